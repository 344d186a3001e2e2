"""What rules mean, said a second time: directly, set by set, for tests."""

from itertools import product

import numpy as np

from enstruct.rules import AtLeast, AtMost, Exactly, Excludes, Forbids, Hierarchy, Implies, Not, Requires


def holds(rule, y):
    """Whether the label set y, a tuple of 0 and 1 of labels 0, 1, ..., keeps the rule."""

    def there(one):
        return not y[one.label] if isinstance(one, Not) else bool(y[one])

    def several(labels):
        return labels if isinstance(labels, (list, tuple)) else [labels]

    match rule:
        case Implies(when, then):
            return not all(map(there, several(when))) or all(map(there, several(then)))
        case Excludes(labels):
            return sum(map(there, labels)) <= 1
        case AtMost(k, labels):
            return sum(map(there, labels)) <= k
        case AtLeast(k, labels):
            return sum(map(there, labels)) >= k
        case Exactly(k, labels):
            return sum(map(there, labels)) == k
        case Requires(label, any_of):
            return not there(label) or any(map(there, several(any_of)))
        case Forbids(labels, sets):
            return not any({name for name in labels if y[name]} == set(some) for some in sets)
        case Hierarchy(_, edges):
            return all(y[parent] or not y[child] for parent, child in edges)
    raise AssertionError(rule)


def legal_sets(rules, n_labels):
    """(sets, labels) all that keep the rules."""
    every = [y for y in product((0, 1), repeat=n_labels) if all(holds(rule, y) for rule in rules)]
    return np.array(every, dtype=np.uint8).reshape(-1, n_labels)


def random_rule(rng, n_labels):
    """Over labels 0, 1, ...; literals are negated now and then."""

    def some(least, most):
        labels = rng.choice(n_labels, rng.integers(least, min(most, n_labels) + 1), replace=False)
        return [Not(int(i)) if rng.random() < 0.2 else int(i) for i in labels]

    kind = rng.integers(8)
    if kind == 0:
        labels = some(2, 4)
        cut = rng.integers(1, len(labels))
        return Implies(labels[:cut], labels[cut:])
    if kind == 1:
        return Excludes(*some(2, 4))
    if kind == 5:
        label, *others = some(2, 4)
        return Requires(label, others)
    if kind == 6:
        labels = tuple(int(i) for i in rng.choice(n_labels, 2, replace=False))
        sets = [(), labels[:1], labels[1:], labels]
        return Forbids(labels, tuple(sets[i] for i in rng.choice(4, rng.integers(1, 3), replace=False)))
    if kind == 7:
        order = rng.permutation(n_labels)
        edges = {(int(order[i]), int(order[rng.integers(i + 1, n_labels)])) for i in rng.choice(n_labels - 1, 2)}
        return Hierarchy(n_labels, tuple(edges))
    labels = some(1, 5)
    return {2: AtMost, 3: AtLeast, 4: Exactly}[int(kind)](int(rng.integers(0, len(labels) + 1)), labels)
