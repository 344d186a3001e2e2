"""Token embedding, character network and BiLSTM: padding never changes a value, unknown words have a vector of their own."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from enstruct.encoders import BiLSTM, Predictor, TokenEmbedding
from enstruct.encoders.bilstm import reversal
from enstruct.encoders.characters import CharacterCNN
from enstruct.encoders.tokens import TokenBatch


def embedding(pretrained=True, characters=4):
    torch.manual_seed(0)
    table = torch.randn(6, 5) if pretrained else None
    return TokenEmbedding(table, 4, 5, (6, 4), characters, 8)


def tokens(columns, there, spellings):
    return TokenBatch(torch.tensor(columns), torch.tensor(there), torch.tensor(spellings))


def random_batch(lengths, longest, n_columns=5):
    torch.manual_seed(1)
    there = torch.arange(longest) < torch.tensor(lengths).unsqueeze(1)
    limits = torch.tensor([6, 4, 6, 4, 3])[:n_columns]
    columns = (torch.rand(len(lengths), longest, n_columns) * limits).long() * there.unsqueeze(-1)
    return TokenBatch(columns, there, torch.tensor([[0, 0, 0], [1, 2, 0], [3, 4, 5]]))


def test_a_word_is_its_fixed_vector_and_what_training_adds():
    made = embedding(characters=0).eval()
    with torch.no_grad():
        made.words.weight.normal_()
    x = tokens([[[2, 3, 1, 1, 0], [4, 0, 2, 3, 0]]], [[True, True]], [[0]])
    out = made(x)
    assert torch.allclose(out[0, 0, :5], made.pretrained[2] + made.words.weight[3])
    assert torch.allclose(out[0, 1, :5], made.pretrained[4] + made.words.weight[0])
    assert out.shape == (1, 2, made.out_features)


def test_training_hides_some_words_so_that_the_unknown_one_learns():
    made = embedding(pretrained=False, characters=0)
    made.unknown = 1.0
    x = random_batch([3], 3)
    assert torch.equal(made(x)[..., :5], made.words.weight[0].expand(1, 3, 5))
    assert not torch.equal(made.eval()(x)[..., :5], made.words.weight[0].expand(1, 3, 5))


def test_characters_by_hand_and_their_padding():
    torch.manual_seed(0)
    made = CharacterCNN(7, 3)
    short, long = torch.tensor([[1, 2]]), torch.tensor([[1, 2, 0, 0]])
    assert torch.allclose(made(short), made(long))
    letters = made.embedding(short)[0]
    padded = torch.cat([torch.zeros(1, 16), letters, torch.zeros(1, 16)])
    windows = torch.stack([padded[i : i + 3] for i in range(2)])  # (2, 3, 16)
    by_hand = torch.relu(torch.einsum("wkc,uck->wu", windows, made.convolution.weight) + made.convolution.bias).amax(0)
    assert torch.allclose(made(short)[0], by_hand, atol=1e-6)


def test_reversal_is_its_own_inverse_and_leaves_padding():
    there = torch.tensor([[True, True, True, False], [True, False, False, False]])
    order = reversal(there)
    assert order.tolist() == [[2, 1, 0, 3], [0, 1, 2, 3]]
    assert torch.equal(order.gather(1, order), torch.arange(4).expand(2, 4))


@given(lengths=st.lists(st.integers(1, 6), min_size=1, max_size=4), more=st.integers(0, 5), layers=st.integers(1, 2))
@settings(max_examples=20, deadline=None)
def test_padding_never_changes_a_value(lengths, more, layers):
    torch.manual_seed(2)
    predictor = Predictor(BiLSTM(embedding(), 7, layers), 3).eval()
    batch = random_batch(lengths, max(lengths) + more)
    together = predictor(batch)
    for i, n in enumerate(lengths):
        alone = predictor(TokenBatch(batch.columns[i : i + 1, :n], batch.there[i : i + 1, :n], batch.spellings))
        assert torch.allclose(together[i, :n], alone[0], atol=1e-6)


def test_the_bilstm_is_torchs_own():
    torch.manual_seed(0)
    made = BiLSTM(embedding(), 6).eval()
    own = torch.nn.LSTM(made.embedding.out_features, 6, batch_first=True, bidirectional=True)
    state = dict(made.forwards[0].state_dict())
    state |= {f"{k}_reverse": v for k, v in made.backwards[0].state_dict().items()}
    own.load_state_dict(state)
    batch = random_batch([5], 5)
    assert torch.allclose(made(batch), own(made.embedding(batch))[0], atol=1e-6)


def test_it_can_be_differentiated_twice():
    """What exact implicit training asks of an encoder."""
    torch.manual_seed(0)
    predictor = Predictor(BiLSTM(embedding(), 4), 3).double().eval()  # no words dropped
    parameters = [p for p in predictor.parameters() if p.requires_grad]
    batch = random_batch([3, 2], 3)
    direction = [torch.randn_like(p) for p in parameters]
    for table in (layer for layer in predictor.modules() if isinstance(layer, torch.nn.Embedding)):
        for p, d in zip(parameters, direction, strict=True):
            if p is table.weight and table.padding_idx is not None:
                d[table.padding_idx] = 0  # padding of spellings learns nothing

    def slopes(**how):
        return torch.autograd.grad(predictor(batch).pow(3).sum(), parameters, materialize_grads=True, **how)

    def slopes_at(step):
        with torch.no_grad():
            for p, d in zip(parameters, direction, strict=True):
                p += step * d
        return slopes()

    along = sum((g * d).sum() for g, d in zip(slopes(create_graph=True), direction, strict=True))
    second = torch.autograd.grad(along, parameters, materialize_grads=True)
    ahead, behind = slopes_at(1e-6), slopes_at(-2e-6)
    for product, a, b in zip(second, ahead, behind, strict=True):
        torch.testing.assert_close(product, (a - b) / 2e-6, rtol=1e-4, atol=1e-5)


def test_columns_without_a_table_are_an_error():
    with pytest.raises(IndexError):
        embedding()(random_batch([2], 2, 3))


def test_words_begin_with_unit_length_in_the_mean_where_no_vectors_are_given():
    weight = TokenEmbedding(None, 2000, 12).words.weight
    assert weight.abs().max() <= 0.5  # uniform with a variance of 1 / width
    assert weight.square().sum(1).mean().item() == pytest.approx(1, abs=0.05)
