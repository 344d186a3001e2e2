"""Seconds of gradient-based inference, ours against the published way, in one run on the same networks.

    python -m enstruct_bench.costs.inference_pass [--out results/benchmark-inference.json] [--plot FILE.png]

bibtex's shape (1836 features, 159 labels, 2x400, 200 units); batches of 128 and 1024; 20 steps, with and without the
compiler, and run to convergence with per-row stopping against the published fixed number of steps. Then refined prediction
against a plain forward pass, and seconds over the number of labels.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from enstruct.data.rows import Rows
from enstruct.encoders import MLP, Predictor
from enstruct.energies import EnergySpec, build_energy
from enstruct.energies.build import Features
from enstruct.environment import environment
from enstruct.files import write_json
from enstruct.inference import ProjectedGradient, minimise
from enstruct.methods import METHODS
from enstruct.plots.labels import panels, save
from enstruct.spaces import LabelSpace
from enstruct.training.batches import batches
from enstruct_bench.comparison.sparse_topics import sparse_topics
from enstruct_bench.costs.as_published import published_inference
from enstruct_bench.costs.measuring import flops, matmul_rate, seconds

FEATURES, LABELS, HIDDEN, UNITS, RATE, STEPS, LONG = 1836, 159, 400, 200, 0.1, 20, 100


def networks(labels: int, sparse: bool, features: Features = "separate") -> tuple[Predictor, Any]:
    def encoder() -> MLP:
        return MLP(FEATURES, HIDDEN, sparse=sparse)

    predictor = Predictor(encoder(), labels)
    return predictor.eval(), build_energy(EnergySpec(units=UNITS, features=features), predictor.encoder, encoder(), labels).eval()


def against_published(batch: int, repeats: int) -> dict[str, float]:
    data = sparse_topics(batch, FEATURES, LABELS, 2.4)
    sparse_x, dense_x = next(batches(Rows(data.X, data.Y), batch)).x, torch.from_numpy(data.X.toarray()).float()
    space = LabelSpace(LABELS)
    (_, ours), (_, theirs) = networks(LABELS, True), networks(LABELS, False)

    def find(**changes: Any) -> Callable[[], Any]:
        return lambda: minimise(ours, ours.prepare(sparse_x), space, ProjectedGradient(RATE), **{"steps": STEPS, **changes})

    def published(steps: int = STEPS) -> Any:
        return published_inference(theirs, dense_x, LABELS, RATE, steps)

    row = {
        "batch": batch,
        "published_20": seconds(published, repeats),
        "published_20_gflop": flops(published) / 1e9,
        "ours_20": seconds(find(), repeats),
        "ours_20_gflop": flops(find()) / 1e9,
        "ours_20_compiled": seconds(find(gradient="compiled"), repeats),
        "published_long": seconds(lambda: published(LONG), max(1, repeats // 3)),
        "ours_to_convergence": seconds(find(steps=LONG, tolerance=1e-3, stable=3), repeats),
    }
    row["ratio_20"] = row["published_20"] / row["ours_20"]
    row["ratio_20_compiled"] = row["published_20"] / row["ours_20_compiled"]
    row["ratio_to_convergence"] = row["published_long"] / row["ours_to_convergence"]
    return row


def refinement(repeats: int, steps: int) -> dict[str, float]:
    """Refined prediction over a plain forward pass, batch 1024: as ``predict(X, refine=steps)`` does it."""
    data = sparse_topics(1024, FEATURES, LABELS, 2.4)
    x = next(batches(Rows(data.X, data.Y), 1024)).x
    row: dict[str, float] = {"steps": steps}
    sharings: tuple[Features, ...] = ("shared", "separate")
    for features in sharings:
        predictor, energy = networks(LABELS, True, features)

        def refined(predictor: Any = predictor, energy: Any = energy, features: str = features) -> Any:
            if features == "shared":  # one pass through the encoder serves both
                hidden = predictor.encoder(x)
                start, state = torch.sigmoid(predictor.head(hidden)), energy.prepare_features(hidden)
            else:
                start, state = torch.sigmoid(predictor(x)), energy.prepare(x)
            return METHODS["seal-nce"].refinement(steps).resolve(start).iterates(energy, state, LabelSpace(LABELS))[-1]

        with torch.no_grad():
            taken, plain = seconds(refined, repeats), seconds(lambda p=predictor: torch.sigmoid(p(x)), repeats)  # type: ignore[misc]
            row |= {features: taken / plain, f"{features}_seconds": taken, f"{features}_gflop": flops(refined) / 1e9}
    return row


def over_labels(repeats: int) -> list[dict[str, float]]:
    lines = []
    for labels in (100, 300, 1000, 3000, 10000):
        energy: Any = build_energy(EnergySpec(units=UNITS), MLP(50, 50), MLP(50, 50), labels).eval()
        state = energy.prepare(torch.randn(128, 50))
        space = LabelSpace(labels)

        def find(energy: Any = energy, state: Any = state, space: LabelSpace = space) -> Any:
            return minimise(energy, state, space, steps=STEPS)

        lines.append({"labels": labels, "seconds": seconds(find, repeats)})
    return lines


def draw(scaling: list[dict[str, float]], path: Path) -> None:
    """Measured seconds, and the line through the largest point: linear cost stays on it or above."""
    figure, (axes,) = panels(1)
    labels = [row["labels"] for row in scaling]
    axes.loglog(labels, [row["seconds"] for row in scaling], "o-", label="20 steps, batch 128")
    axes.loglog(labels, [scaling[-1]["seconds"] * n / labels[-1] for n in labels], "--", label="linear")
    axes.set(title="inference over the number of labels", xlabel="labels", ylabel="seconds")
    save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--plot", type=Path, default=None, help="a picture of seconds over the number of labels")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.manual_seed(0)
    rate = matmul_rate()
    rows = [against_published(batch, options.repeats) for batch in (128, 1024)]
    for row in rows:
        print(
            f"batch {row['batch']:5.0f}: 20 steps {1e3 * row['ours_20']:7.1f} ms, published {1e3 * row['published_20']:8.1f} ms, "
            f"ratio {row['ratio_20']:5.1f}, compiled {row['ratio_20_compiled']:5.1f}, "
            f"to convergence {row['ratio_to_convergence']:5.1f}"
        )
    refined, scaling = [refinement(options.repeats, steps) for steps in (1, 2, 3)], over_labels(options.repeats)
    for row in refined:
        cost = f"{row['shared']:.2f}x with shared, {row['separate']:.2f}x with separate features"
        print(f"prediction refined by {row['steps']} steps over a forward pass: {cost}")
    print("labels: " + ", ".join(f"{row['labels']}: {1e3 * row['seconds']:.1f} ms" for row in scaling))
    if options.plot is not None:
        draw(scaling, options.plot)
    if options.out is not None:
        content = {
            "environment": environment(),
            "matmul_gflops": rate / 1e9,
            "inference": rows,
            "refinement": refined,
            "labels": scaling,
        }
        write_json(options.out, content)


if __name__ == "__main__":
    main()
