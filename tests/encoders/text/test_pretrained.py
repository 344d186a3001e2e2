"""Encoders of texts: frozen features against the library ``transformers`` by itself, what is tuned, what is kept and refused."""

import copy
import pickle
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from tests.generated_texts import tiny_encoder

from enstruct import TextEncoder
from enstruct.encoders.text import convert, feature_cache
from enstruct.encoders.text.feature_cache import LEAST
from enstruct.encoders.text.trunk import load_trunk
from enstruct.errors import ConfigError, DataError, ModelFileError
from enstruct.randomness import generator, redirected, seeded
from enstruct.training.batches import to_features

transformers = pytest.importorskip("transformers")
TEXTS = ["grain and wheat", "", "oil", "grain and wheat", "gold ship trade crude corn rate bank " * 9]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


def reference(folder, texts, pooling="mean", most=32, layers=(2,)):
    """Text by text, without padding, of the layers of these numbers."""
    tokenizer, network = (getattr(transformers, name).from_pretrained(folder) for name in ("AutoTokenizer", "AutoModel"))
    out = []
    for text in texts:
        tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=most)
        every = network.eval()(**tokens, output_hidden_states=True).hidden_states
        states = torch.cat([every[layer][0] for layer in layers], dim=1)
        out.append((states[0] if pooling == "cls" else states.mean(0)).detach().numpy())
    return np.stack(out)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_frozen_features_are_the_encoders(folder, pooling):
    encoder = TextEncoder(folder, pooling=pooling, layers=2, cache=False)
    assert np.allclose(encoder.fit_transform(TEXTS), reference(folder, TEXTS, pooling, layers=(2, 1)), atol=1e-5)
    assert clone(encoder).get_params() == encoder.get_params()
    assert len({encoder, clone(encoder)}) == 2  # scikit-learn keeps estimators in sets
    assert encoder.get_feature_names_out().shape == (encoder.width_,) == (32,)


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        ({}, [6]),
        ({"layers": 2}, [6, 3]),
        ({"layers": 3}, [6, 4, 2]),
        ({"layers": 4}, [6, 4, 3, 2]),
        ({"layers": 6}, [6, 5, 4, 3, 2, 1]),
    ],
)
def test_layers_are_read_evenly_from_the_last(asked, read, tmp_path):
    deep = tiny_encoder(tmp_path / "deep", num_hidden_layers=6)
    encoder = TextEncoder(deep, cache=False, **asked)
    assert encoder.width == 16 * len(read)
    assert np.allclose(encoder.features(TEXTS), reference(deep, TEXTS, layers=read), atol=1e-5)


def test_more_layers_than_there_are(folder):
    with pytest.raises(ConfigError, match=r"layers=3, and the encoder at .* has 2: take fewer"):
        TextEncoder(folder, layers=3, cache=False).features(TEXTS)


def test_features_of_other_layers_are_kept_apart(folder, tmp_path):
    texts = many(LEAST)
    two, one = (TextEncoder(folder, layers=n, cache=tmp_path).features(texts) for n in (2, 1))
    assert np.allclose(two[:, :16], one, atol=1e-6)
    assert len([*tmp_path.glob("*.sqlite")]) == 2


@pytest.mark.parametrize("more", [{"tuning": "lora"}, {"label_texts": "names"}])
def test_the_last_layer_alone_counts_where_an_encoder_is_tuned_or_reads_labels(more, folder):
    assert TextEncoder(folder, **more).check().n_layers == 1
    with pytest.raises(ConfigError, match="leave layers= out"):
        TextEncoder(folder, layers=2, **more).check()


def test_an_encoder_that_tells_its_last_layer_alone(folder, monkeypatch):
    network = load_trunk(folder).network
    forward = type(network).forward
    monkeypatch.setattr(type(network), "forward", lambda self, output_hidden_states=None, **named: forward(self, **named))
    with pytest.raises(ConfigError, match=r"its last layer alone: TextEncoder\(layers=1\)"):
        TextEncoder(folder, layers=2, cache=False).features(TEXTS)
    assert TextEncoder(folder, cache=False).features(TEXTS).shape == (5, 16)


def test_texts_are_cut_where_positions_end_and_that_is_said(folder, caplog):
    load_trunk(folder).said.clear()
    features = TextEncoder(folder, max_tokens=1000, cache=False).transform(TEXTS)
    assert np.allclose(features, reference(folder, TEXTS), atol=1e-5)
    cut = "1 of 4 texts have more than 32 tokens (what the encoder reads at once) and are cut there"
    assert [record.getMessage() for record in caplog.records] == [cut]
    assert np.allclose(
        TextEncoder(folder, max_tokens=5, cache=False).transform(TEXTS), reference(folder, TEXTS, most=5), atol=1e-5
    )


@pytest.mark.parametrize("tuning", ["adapter", "pfeiffer", "lora", "full"])
def test_tuning_begins_at_the_pretrained_features(folder, tuning):
    encoder = TextEncoder(folder, tuning=tuning, size=3 if tuning != "full" else None)
    network = encoder.network().eval()
    with torch.no_grad():
        assert np.allclose(network(to_features(encoder.token_rows(TEXTS))), reference(folder, TEXTS), atol=1e-5)
    own = sum(p.numel() for p in network.parameters())
    layers, width, inner = 2, 16, 3
    counts = {
        "adapter": layers * 2 * (2 * width * inner + width + inner),
        "pfeiffer": layers * (2 * width * inner + width + inner),
        "lora": layers * 2 * 2 * width * inner,
        "full": sum(p.numel() for p in load_trunk(folder).network.parameters()),
    }
    assert own == counts[tuning]


def test_low_rank_parts_are_as_if_added_to_the_weights(folder):
    encoder = TextEncoder(folder, tuning="lora", size=2)
    network = encoder.network().eval()
    for part in network.parts.parts:
        torch.nn.init.normal_(part.b)
    merged = transformers.AutoModel.from_pretrained(folder).eval()
    targets = [m for name, m in merged.named_modules() if name.endswith((".query", ".value"))]
    with torch.no_grad():
        for target, part in zip(targets, network.parts.parts, strict=True):
            target.weight += 16 / 2 * part.b @ part.a
        tokens = load_trunk(folder).tokenizer(["oil grain"], return_tensors="pt")
        wanted = merged(**tokens).last_hidden_state.mean(1)
        assert torch.allclose(network(to_features(encoder.token_rows(["oil grain"]))), wanted, atol=1e-5)


@pytest.mark.parametrize("tuning", ["adapter", "pfeiffer"])
def test_adapters_stand_before_the_sum_with_what_came_in(folder, tuning):
    encoder = TextEncoder(folder, tuning=tuning, size=2)
    network = encoder.network().eval()
    for part in network.parts.parts:
        torch.nn.init.normal_(part.up.weight)
    seen = transformers.AutoModel.from_pretrained(folder).eval()
    parts = iter(network.parts.parts)
    for layer in seen.encoder.layer:
        for end in (layer.attention.output, layer.output) if tuning == "adapter" else (layer.output,):
            part, dense = next(parts), end.dense
            end.dense = torch.nn.Sequential(dense, Added(part))
    with torch.no_grad():
        tokens = load_trunk(folder).tokenizer(["oil grain"], return_tensors="pt")
        wanted = seen(**tokens).last_hidden_state.mean(1)
        assert torch.allclose(network(to_features(encoder.token_rows(["oil grain"]))), wanted, atol=1e-5)
        assert not torch.allclose(wanted, torch.from_numpy(reference(folder, ["oil grain"])), atol=1e-2)


class Added(torch.nn.Module):
    """h + W2 relu(W1 h + b1) + b2."""

    def __init__(self, part):
        super().__init__()
        self.w1, self.w2 = part.down, part.up

    def forward(self, h):
        return h + torch.relu(h @ self.w1.weight.T + self.w1.bias) @ self.w2.weight.T + self.w2.bias


def test_parts_alone_learn_and_two_networks_share_a_trunk(folder):
    encoder = TextEncoder(folder, tuning="adapter", size=2)
    one, other = encoder.network(), encoder.network()
    twin = copy.deepcopy(one)
    assert one.trunk is other.trunk is twin.trunk
    assert {id(p) for p in one.parameters()}.isdisjoint(id(p) for p in twin.parameters())
    x = to_features(encoder.token_rows(TEXTS))
    one.train()(x).pow(2).sum().backward()
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in one.parameters())
    assert all(p.grad is None for p in (*one.trunk.network.parameters(), *other.parameters(), *twin.parameters()))
    with torch.no_grad():
        for part in one.parts.parts:
            torch.nn.init.normal_(part.up.weight)
        assert not torch.allclose(one.eval()(x), other.eval()(x))
        assert torch.allclose(twin.eval()(x), other(x), atol=1e-6)


def many(n, start=0):
    return [f"grain {i:05} wheat" for i in range(start, start + n)]


def counted(monkeypatch):
    """How many texts are computed at each call."""
    calls, real = [], TextEncoder._computed
    monkeypatch.setattr(TextEncoder, "_computed", lambda self, trunk, texts: calls.append(len(texts)) or real(self, trunk, texts))
    return calls


def test_features_are_kept_by_content(folder, tmp_path, monkeypatch):
    texts, calls = many(LEAST), counted(monkeypatch)
    encoder = TextEncoder(folder, cache=tmp_path / "kept")
    once = encoder.transform(texts)
    assert np.array_equal(encoder.transform(texts[::-1]), once[::-1])
    assert np.array_equal(encoder.transform(many(LEAST, 3))[: LEAST - 3], once[3:])
    assert calls == [LEAST, 3]
    (file,) = (tmp_path / "kept").glob("*.sqlite")
    file.write_bytes(b"damaged" * 999)
    assert np.array_equal(encoder.transform(texts), once)
    assert np.array_equal(encoder.transform(texts), once)
    assert calls == [LEAST, 3, LEAST]
    TextEncoder(folder, max_tokens=4, cache=tmp_path / "kept").transform(texts)
    assert calls == [LEAST, 3, LEAST, LEAST]
    assert len([*(tmp_path / "kept").glob("*.sqlite")]) == 2


def test_few_texts_and_a_folder_that_cannot_be_written_keep_nothing(folder, tmp_path):
    (tmp_path / "file").write_text("")
    assert TextEncoder(folder, cache=tmp_path / "file" / "below").transform(many(LEAST)).shape == (LEAST, 16)
    TextEncoder(folder, cache=tmp_path / "kept").transform(many(3))
    TextEncoder(folder, cache=False).transform(many(LEAST))
    assert not (tmp_path / "kept").exists()


def test_a_file_that_another_process_holds_costs_time_alone(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(feature_cache, "WAIT", 0.05)
    encoder = TextEncoder(folder, cache=tmp_path)
    once = encoder.transform(many(LEAST))
    (file,) = tmp_path.glob("*.sqlite")
    with closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert np.array_equal(encoder.transform(many(LEAST)), once)
    assert np.array_equal(encoder.transform(many(LEAST)), once)


def test_old_files_go_where_there_are_many_bytes(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(feature_cache, "MOST_BYTES", 1)
    for most in (4, 5):
        TextEncoder(folder, max_tokens=most, cache=tmp_path).transform(many(LEAST))
    assert len([*tmp_path.glob("*.sqlite")]) == 1


def test_a_cache_that_is_named_by_the_environment(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("ENSTRUCT_CACHE", str(tmp_path / "own"))
    TextEncoder(folder).transform(many(LEAST))
    assert len([*(tmp_path / "own" / "texts").glob("*.sqlite")]) == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"tuning": "all"}, "tuning= is"),
        ({"pooling": "max"}, "pooling= is"),
        ({"max_tokens": 2}, "max_tokens= is"),
        ({"size": 0}, "size= is"),
        ({"layers": 0}, "layers= is"),
        ({"precision": "half"}, "precision= is"),
        ({"learning_rate": -1.0}, "learning_rate= is"),
        ({"texts_a_pass": 2}, "texts_a_pass= is of an encoder that is tuned"),
        ({"tuning": "full", "texts_a_pass": 0}, "texts_a_pass= is a whole number"),
        ({"name": 3}, "name= is"),
        ({"device": "abacus"}, "device= is"),
        ({"name": "no/such-encoder"}, "There is no encoder"),
    ],
)
def test_settings_that_cannot_be_meant(folder, settings, said):
    with pytest.raises(ConfigError, match=said):
        _ = TextEncoder(**{"name": folder, **settings}).trunk


@pytest.mark.parametrize(("kind", "named"), [("MPNet", "attention.attn.o"), ("Camembert", "attention.output.dense")])
def test_positions_and_ends_of_blocks_of_other_kinds(tmp_path, folder, kind, named):
    """Positions begin behind the padding's number, and adapters stand behind attention and feed-forward layers alike."""
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=60,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
    )
    config.pad_token_id = 1
    getattr(transformers, f"{kind}Model")(config).save_pretrained(tmp_path)
    for file in ("vocab.txt", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    encoder = TextEncoder(tmp_path, max_tokens=1000, cache=False)
    assert encoder.trunk.positions == 38
    assert encoder.transform(TEXTS).shape == (5, 16)
    parts = replace(encoder, tuning="adapter").network().parts.names
    assert sum(name.endswith(named) for name in parts) == 2
    assert len(parts) == 4


def test_a_device_that_is_not_there(folder):
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(ConfigError, match="no such device here"):
        TextEncoder(folder, device="cuda", cache=False).transform(TEXTS)


def test_what_is_no_text_and_what_a_classifier_tunes(folder):
    with pytest.raises(DataError, match="reads texts"):
        TextEncoder(folder).transform(np.eye(2))
    with pytest.raises(DataError, match="Row 0 of X is missing"):
        TextEncoder(folder).transform([None, np.nan])
    with pytest.raises(ConfigError, match="give it as encoder="):
        TextEncoder(folder, tuning="lora").fit(TEXTS)
    with pytest.raises(ConfigError, match="tuning= is one of"):
        TextEncoder(folder, tuning="lorra").fit(TEXTS)


def test_texts_that_are_cut_are_said_once_and_end_as_texts_end(folder, caplog):
    """Of an encoder and a number of tokens; of texts that just fit nothing is said."""
    load_trunk(folder).said.clear()
    encoder, trunk = TextEncoder(folder, max_tokens=6, cache=False), load_trunk(folder)
    whole = trunk.tokens(["grain " * 100], 10**6)[0]
    trunk.said.clear()
    fits = " ".join(["grain"] * 4)
    assert len(trunk.tokens([fits], 10**6)[0]) == 6
    encoder.transform([fits])
    assert not caplog.records
    encoder.transform(["grain " * 100, fits, "grain " * 7])
    encoder.transform(["grain " * 100])
    assert [one.getMessage() for one in caplog.records] == ["2 of 3 texts have more than 6 tokens (max_tokens) and are cut there"]
    assert trunk.tokens(["grain " * 100], 6)[0] == [*whole[:5], whole[-1]]


def test_folders_that_are_no_encoders(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"no config\.json"):
        load_trunk(tmp_path / "empty")
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "config.json").write_text((folder / "config.json").read_text())
    with pytest.raises(ConfigError, match="has no weights"):
        load_trunk(tmp_path / "bare")
    (tmp_path / "bare" / "model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_trunk(tmp_path / "bare")


def test_pickled_weights_are_refused_and_converted_by_an_explicit_call(tmp_path, folder):
    pickled = tmp_path / "pickled"
    pickled.mkdir()
    for file in folder.iterdir():
        if file.suffix != ".safetensors":
            (pickled / file.name).write_bytes(file.read_bytes())
    torch.save(transformers.AutoModel.from_pretrained(folder).state_dict(), pickled / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="pickled alone"):
        load_trunk(pickled)
    convert(pickled)
    assert np.allclose(TextEncoder(pickled, cache=False).transform(TEXTS), reference(folder, TEXTS), atol=1e-5)
    assert load_trunk(pickled).width == 16
    with pytest.raises(ModelFileError, match="is there already"):
        convert(pickled)


def test_a_trainers_own_files_are_no_weights(tmp_path, folder):
    for file in folder.iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    torch.save(transformers.AutoModel.from_pretrained(folder).state_dict(), tmp_path / "pytorch_model.bin")
    torch.save({"state": {}, "param_groups": [1]}, tmp_path / "optimizer.pt")
    convert(tmp_path)
    assert np.allclose(TextEncoder(tmp_path, cache=False).transform(TEXTS), reference(folder, TEXTS), atol=1e-5)


def test_weights_that_the_hub_has_pickled_alone(tmp_path, folder, monkeypatch):
    """Refused with the way out, and with it fetched, checked and converted."""
    import hashlib
    from types import SimpleNamespace

    import huggingface_hub

    from enstruct.encoders.text import download

    for file in folder.iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    torch.save(transformers.AutoModel.from_pretrained(folder).state_dict(), tmp_path / "pytorch_model.bin")
    sha = hashlib.sha256((tmp_path / "pytorch_model.bin").read_bytes()).hexdigest()
    asked = {}

    class Hub:
        def model_info(self, name, revision, files_metadata):
            file = SimpleNamespace(rfilename="pytorch_model.bin", lfs=SimpleNamespace(sha256=sha))
            return SimpleNamespace(siblings=[file], sha="abc")

    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **how: asked.update(how) or str(tmp_path))
    with pytest.raises(ConfigError, match="`enstruct encoder fetch old/encoder --pickled`"):
        download("old/encoder")
    assert not asked
    assert download("old/encoder", pickled=True) == tmp_path
    assert "pytorch_model*.bin" in asked["allow_patterns"]
    assert np.allclose(TextEncoder(tmp_path, cache=False).transform(TEXTS), reference(folder, TEXTS), atol=1e-5)


class Malicious:
    """Would write a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_a_pickle_that_runs_code_is_not_read(tmp_path):
    torch.save({"weight": Malicious(tmp_path / "ran")}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelFileError, match="more than weights"):
        convert(tmp_path)
    assert not (tmp_path / "ran").exists()
    with pytest.raises(ModelFileError, match="no pickled weights"):
        convert(tmp_path / "ran")


def test_what_the_hub_gives_is_checked(tmp_path, folder, monkeypatch):
    """Without a network: a stand-in for the hub, whose checksum is right, then wrong."""
    import hashlib
    from types import SimpleNamespace

    import huggingface_hub

    from enstruct.encoders.text import download

    right = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    asked = {}

    class Hub:
        sum = right

        def model_info(self, name, revision, files_metadata):
            files = [SimpleNamespace(rfilename="model.safetensors", lfs=SimpleNamespace(sha256=Hub.sum))]
            return SimpleNamespace(siblings=[*files, SimpleNamespace(rfilename="config.json", lfs=None)], sha="abc")

    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **how: asked.update(how) or str(folder))
    assert download("some/encoder") == folder
    assert asked["revision"] == "abc"
    assert "*.bin" not in asked["allow_patterns"]
    Hub.sum = "0" * 64
    with pytest.raises(ConfigError, match="checksum"):
        download("some/encoder")
    content = (folder / "model.safetensors").read_bytes()
    for blob, is_right in ((hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest(), True), ("0" * 40, False)):
        small = SimpleNamespace(rfilename="model.safetensors", lfs=None, blob_id=blob)  # which the repository holds itself
        monkeypatch.setattr(Hub, "model_info", lambda *a, small=small, **k: SimpleNamespace(siblings=[small], sha="abc"))
        if is_right:
            assert download("some/encoder") == folder
        else:
            with pytest.raises(ConfigError, match="checksum"):
                download("some/encoder")

    class Offline:
        def model_info(self, *asked, **more):
            raise NoConnectionError("name or service not known")

    class NoConnectionError(Exception):
        """As HTTP libraries have them, of no class that the standard library knows."""

    monkeypatch.setattr(huggingface_hub, "HfApi", Offline)
    with pytest.raises(ConfigError, match="The hub does not give 'some/encoder': name or service not known"):
        download("some/encoder")


def test_an_encoder_of_another_kind_of_layers(tmp_path):
    from transformers import DistilBertConfig, DistilBertModel, GPT2Config, GPT2Model

    config = DistilBertConfig(vocab_size=40, dim=16, n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=32)
    folder = tiny_encoder(tmp_path / "distil")
    DistilBertModel(config).save_pretrained(folder)
    for tuning, n in (("adapter", 4), ("pfeiffer", 2), ("lora", 4)):
        assert len(TextEncoder(folder, tuning=tuning).network().parts.parts) == n
    folder = tiny_encoder(tmp_path / "gpt")
    GPT2Model(GPT2Config(vocab_size=40, n_embd=16, n_layer=1, n_head=2, n_positions=32)).save_pretrained(folder)
    with pytest.raises(ConfigError, match="none of the layers"):
        TextEncoder(folder, tuning="lora").network()


def test_threads_do_not_meet_in_one_trunk(folder):
    """Two networks with parts of their own answer at once as they do one after the other."""
    encoder = TextEncoder(folder, tuning="adapter", size=2)
    networks = [encoder.network().eval() for _ in range(2)]
    for network in networks:
        for part in network.parts.parts:
            torch.nn.init.normal_(part.up.weight)
    x = to_features(encoder.token_rows(TEXTS))
    with torch.no_grad():
        alone = [network(x) for network in networks]

        def answers(i):
            with torch.no_grad():
                return [torch.equal(networks[i % 2](x), alone[i % 2]) for _ in range(20)]

        with ThreadPoolExecutor(4) as pool:
            assert all(all(same) for same in pool.map(answers, range(4)))
    assert not torch.allclose(*alone)


def test_pickles_name_the_encoder(folder, tmp_path):
    own = tiny_encoder(tmp_path / "own")
    network = TextEncoder(own, tuning="lora", size=2).network().eval()
    content = pickle.dumps(network)
    assert len(content) < 20_000
    again = pickle.loads(content)
    assert again.trunk is network.trunk
    x = to_features(TextEncoder(own).token_rows(TEXTS))
    with torch.no_grad():
        assert torch.equal(again(x), network(x))
    tiny_encoder(own, seed=3)
    with pytest.raises(ModelFileError, match="other weights"):
        pickle.loads(content)


def test_weights_and_tokenizers_that_are_missing_are_named(tmp_path, folder):
    from safetensors.torch import load_file, save_file

    lacking = tiny_encoder(tmp_path / "lacking")
    weights = load_file(lacking / "model.safetensors")
    save_file({f"student.{name}": value for name, value in weights.items()}, lacking / "model.safetensors", {"format": "pt"})
    with pytest.raises(ConfigError, match="They would be random"):
        load_trunk(lacking)
    mute = tiny_encoder(tmp_path / "mute")
    for name in ("tokenizer.json", "vocab.txt"):
        (mute / name).unlink(missing_ok=True)
    with pytest.raises(ConfigError, match="has no tokenizer"):
        load_trunk(mute)
    odd = tiny_encoder(tmp_path / "odd")
    (odd / "config.json").write_text((odd / "config.json").read_text().replace('"hidden_size": 16', '"hidden_size": "x"'))
    with pytest.raises(ConfigError, match="cannot be read") as error:
        load_trunk(odd)
    assert len(str(error.value)) <= 300


def test_a_changed_tokenizer_is_another_encoder(tmp_path):
    own = tiny_encoder(tmp_path / "own")
    before = load_trunk(own)
    settings = (own / "tokenizer_config.json").read_text()
    (own / "tokenizer_config.json").write_text(settings + " ")
    assert load_trunk(own).digest != before.digest


def test_threads_share_a_tokenizer(folder):
    texts = ["grain " * 20] * 200
    encoders = [TextEncoder(folder, max_tokens=most, cache=False) for most in (8, 16)]
    with ThreadPoolExecutor(4) as pool:
        lengths = list(pool.map(lambda i: encoders[i % 2].token_rows(texts).lengths, range(40)))
    assert all((own == (8, 16)[i % 2]).all() for i, own in enumerate(lengths))


def test_pieces_are_those_of_a_word_within_a_sentence(folder):
    assert TextEncoder(folder).pieces([]) == []
    tokenizer = load_trunk(folder).tokenizer
    assert TextEncoder(folder).pieces(["grain", "xyz"]) == [
        tokenizer(word, add_special_tokens=False)["input_ids"] for word in ("grain", "xyz")
    ]
    assert TextEncoder(folder).features([]).shape == (0, 16)


@pytest.mark.parametrize("tuning", ["full", "adapter", "pfeiffer", "lora"])
def test_a_pass_that_is_run_again_draws_the_same_numbers(tmp_path, tuning):
    """With dropout: output, gradient and where the random numbers stand afterwards are those of a single run."""
    place = tiny_encoder(tmp_path / "dropping", hidden_dropout_prob=0.3, attention_probs_dropout_prob=0.3)
    texts = ["grain wheat", "ship", "oil gold corn bank rate", "crude"]
    found = []
    for a_pass in (None, 4):
        how = TextEncoder(place, tuning=tuning, max_tokens=16, texts_a_pass=a_pass)
        with seeded(0), redirected():
            network = how.network().train()
        for parameter in network.parameters():  # parts begin at nothing
            parameter.data += 0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
        x = to_features(how.token_rows(texts))
        with seeded(1):
            out = network(x)
            (out.pow(2).sum() + network(x).sum()).backward()
            after = torch.rand(3, generator=generator("cpu"))
        gradient = torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])
        found.append((out.detach(), gradient, after))
    for once, again in zip(*found, strict=True):
        torch.testing.assert_close(once, again)


def test_the_gradient_without_dropout_does_not_depend_on_the_passes(tmp_path):
    place = tiny_encoder(tmp_path / "plain", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    texts, found = ["grain wheat", "ship", "oil gold corn bank rate", "crude"], []
    for a_pass in (None, 1, 3):
        how = TextEncoder(place, tuning="full", max_tokens=16, texts_a_pass=a_pass, precision="float32")
        network = how.network().train()
        network(to_features(how.token_rows(texts))).pow(2).sum().backward()
        found.append(torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None]))
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], atol=1e-4, rtol=1e-4)
