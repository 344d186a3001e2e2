"""The best settings of the published SEAL systems, as its authors released them, a line a method and data set.

Columns: layers, width and dropout of both networks; measurements of the energy; weights of energy and cross-entropy in the
predictor's loss (of SEAL-margin that of its inference network); samples and their standard deviation; learning rates of energy
and predictor; weight decay; energy updates before each predictor update (for SEAL-margin predictor updates), and how often a
batch; rate of gradient-based inference. None where the method has no such column.
"""

from __future__ import annotations

from typing import NamedTuple

EPOCHS, PATIENCE = 300, 20
"""Of every system."""


class Published(NamedTuple):
    layers: int
    hidden: int
    dropout: float
    units: int
    energy_weight: float | None
    supervised_weight: float | None
    samples: int | None
    std: float | None
    energy_rate: float | None
    predictor_rate: float | None
    weight_decay: float
    inner: int
    outer: int
    inference_rate: float | None = None


SEAL_SETTINGS: dict[str, dict[str, Published]] = {
    "bibtex": {
        "cross-entropy": Published(2, 400, 0.4, 200, 0.0, 1.0, None, None, 0.001, 0.005, 1e-05, 1, 1),
        "spen": Published(2, 400, 0.5, 200, None, None, None, None, 1.7e-05, None, 1e-05, 1, 0, 0.00677),
        "dvn": Published(1, 300, 0.0, 200, None, None, None, None, 0.00239, None, 0.064, 1, 0, 0.0435),
        "nce": Published(2, 400, 0.5, 200, None, None, 80, None, 0.000919, None, 1e-05, 1, 1, 0.1),
        "seal-margin": Published(2, 400, 0.5, 200, 0.00152, 3.89, None, None, 6.88e-05, 0.00159, 1e-05, 1, 6),
        "seal-regression": Published(2, 400, 0.5, 200, 3.24, 1.0, None, None, 0.00563, 0.00309, 3.4e-06, 9, 1),
        "seal-regression-s": Published(2, 200, 0.5, 200, 9.94, 1.0, 10, 1.12, 0.0066, 0.00105, 1e-05, 5, 5),
        "seal-nce": Published(2, 400, 0.5, 200, 5.51, 1.0, 20, None, 4.51e-05, 0.00117, 1e-05, 12, 5),
        "seal-ranking": Published(2, 400, 0.5, 200, 9.21, 1.0, 40, None, 4.48e-05, 0.00144, 1e-05, 9, 10),
    },
    "delicious": {
        "cross-entropy": Published(2, 500, 0.1, 200, 0.0, 1.0, None, None, 0.001, 0.00328, 1e-05, 1, 1),
        "spen": Published(2, 400, 0.1, 200, None, None, None, None, 0.00295, None, 1e-05, 1, 0, 0.00678),
        "dvn": Published(2, 500, 0.0, 200, None, None, None, None, 0.00115, None, 0.0039, 1, 0, 0.135),
        "nce": Published(2, 400, 0.1, 200, None, None, 80, None, 0.00205, None, 1e-05, 1, 1, 0.1),
        "seal-margin": Published(2, 400, 0.2, 200, 0.00118, 5.6, None, None, 0.0027, 0.00497, 1e-05, 1, 1),
        "seal-regression": Published(2, 400, 0.5, 200, 9.27, 1.0, None, None, 0.000114, 0.00176, 1e-05, 3, 5),
        "seal-regression-s": Published(2, 400, 0.5, 200, 9.85, 1.0, 5, 0.603, 0.000129, 0.00331, 1e-05, 6, 1),
        "seal-nce": Published(2, 400, 0.5, 200, 0.91, 1.0, 20, None, 0.00373, 0.000848, 1e-05, 6, 5),
        "seal-ranking": Published(2, 400, 0.5, 200, 1.01, 1.0, 80, None, 0.000859, 9.95e-05, 1e-05, 3, 10),
    },
    "genbase": {
        "cross-entropy": Published(1, 400, 0.0, 200, 0.0, 1.0, None, None, 0.001, 0.00198, 1e-05, 1, 1),
        "spen": Published(1, 400, 0.0, 200, None, None, None, None, 0.000423, None, 1e-05, 1, 0, 0.0106),
        "dvn": Published(1, 400, 0.0, 200, None, None, None, None, 0.000846, None, 0.024, 1, 0, 0.109),
        "nce": Published(1, 400, 0.0, 200, None, None, 80, None, 0.000322, None, 1e-05, 1, 1, 0.1),
        "seal-margin": Published(1, 400, 0.0, 400, 0.0101, 7.53, None, None, 0.00027, 0.000742, 1e-05, 1, 10),
        "seal-regression": Published(1, 400, 0.0, 200, 0.00243, 1.0, None, None, 0.000366, 0.00136, 1e-05, 6, 10),
        "seal-regression-s": Published(1, 400, 0.0, 200, 0.0276, 1.0, 20, 4.0, 0.000464, 0.000997, 1e-05, 3, 10),
        "seal-nce": Published(1, 400, 0.0, 200, 0.00203, 1.0, 100, None, 0.000547, 0.00125, 1e-05, 9, 10),
        "seal-ranking": Published(1, 400, 0.0, 200, 0.00193, 1.0, 100, None, 1.69e-05, 0.00166, 1e-05, 3, 10),
    },
    "cal500": {
        "cross-entropy": Published(5, 500, 0.2, 200, 0.0, 1.0, None, None, 0.001, 0.00986, 1e-05, 1, 1),
        "spen": Published(5, 500, 0.2, 200, None, None, None, None, 1.08e-05, None, 1e-05, 1, 0, 0.0169),
        "dvn": Published(5, 500, 0.3, 200, None, None, None, None, 6.52e-05, None, 8.2e-06, 1, 0, 0.107),
        "nce": Published(5, 500, 0.2, 400, None, None, 100, None, 0.00354, None, 1e-05, 1, 1, 0.1),
        "seal-margin": Published(5, 500, 0.2, 400, 0.0049, 3.99, None, None, 0.00051, 0.00827, 1e-05, 1, 10),
        "seal-regression": Published(5, 500, 0.2, 400, 1.38, 1.0, None, None, 0.00599, 0.00691, 1e-05, 3, 10),
        "seal-regression-s": Published(5, 500, 0.2, 400, 8.89, 1.0, 30, 2.85, 0.00866, 0.00623, 1e-05, 9, 5),
        "seal-nce": Published(5, 500, 0.2, 400, 0.478, 1.0, 20, None, 0.00779, 0.00491, 1e-05, 9, 10),
        "seal-ranking": Published(5, 500, 0.2, 400, 8.72, 1.0, 40, None, 0.00244, 4.58e-05, 1e-05, 6, 5),
    },
    "eurlex-ev": {
        "cross-entropy": Published(2, 500, 0.1, 200, 0.0, 1.0, None, None, 0.001, 0.005, 1e-05, 1, 1),
        "spen": Published(2, 500, 0.1, 200, None, None, None, None, 1.29e-05, None, 1e-05, 1, 0, 0.00685),
        "dvn": Published(2, 500, 0.2, 200, None, None, None, None, 0.00016, None, 0.04, 1, 0, 0.0549),
        "nce": Published(2, 500, 0.1, 300, None, None, 40, None, 1.15e-05, None, 1e-05, 1, 1, 0.1),
        "seal-margin": Published(2, 500, 0.2, 300, 0.00164, 0.819, None, None, 0.00034, 0.00209, 1e-05, 1, 5),
        "seal-regression": Published(2, 500, 0.1, 300, 0.0011, 1.0, None, None, 0.000222, 0.00233, 1e-05, 6, 5),
        "seal-regression-s": Published(2, 500, 0.1, 300, 0.0778, 1.0, 35, 0.06, 5.26e-05, 0.00644, 1e-05, 12, 1),
        "seal-nce": Published(2, 500, 0.1, 300, 1.5, 1.0, 40, None, 0.000499, 0.0025, 1e-05, 6, 5),
        "seal-ranking": Published(2, 500, 0.1, 300, 0.295, 1.0, 40, None, 0.000305, 0.00196, 1e-05, 9, 5),
    },
    "expr_FUN": {
        "cross-entropy": Published(4, 200, 0.2, 200, 0.0, 1.0, None, None, 0.001, 0.005, 1e-05, 1, 1),
        "spen": Published(4, 200, 0.2, 200, None, None, None, None, 1.02e-05, None, 1e-05, 1, 0, 0.00718),
        "dvn": Published(4, 200, 0.2, 400, None, None, None, None, 0.000284, None, 0.0001, 1, 0, 0.573),
        "nce": Published(4, 200, 0.2, 400, None, None, 100, None, 0.000237, None, 1e-05, 1, 1, 0.1),
        "seal-margin": Published(4, 200, 0.2, 400, 0.00112, 4.04, None, None, 0.000103, 0.00122, 1e-05, 1, 5),
        "seal-regression": Published(4, 200, 0.2, 400, 0.138, 1.0, None, None, 0.000327, 0.00059, 1e-05, 9, 5),
        "seal-regression-s": Published(4, 200, 0.2, 400, 0.0212, 1.0, 5, 0.217, 3.16e-05, 0.000878, 1e-05, 9, 5),
        "seal-nce": Published(4, 200, 0.2, 400, 4.14, 1.0, 80, None, 5.25e-05, 0.000216, 1e-05, 6, 10),
        "seal-ranking": Published(4, 200, 0.2, 400, 1.05, 1.0, 40, None, 0.0102, 0.000522, 1e-05, 6, 5),
    },
    "spo_FUN": {
        "cross-entropy": Published(4, 300, 0.1, 200, 0.0, 1.0, None, None, 0.001, 0.01, 1e-05, 1, 1),
        "spen": Published(4, 300, 0.1, 200, None, None, None, None, 1.04e-05, None, 1e-05, 1, 0, 0.00815),
        "dvn": Published(4, 300, 0.3, 200, None, None, None, None, 0.000203, None, 0.00075, 1, 0, 0.346),
        "nce": Published(4, 300, 0.1, 300, None, None, 100, None, 0.000261, None, 1e-05, 1, 1, 0.1),
        "seal-margin": Published(4, 300, 0.2, 300, 0.00521, 0.63, None, None, 7.93e-05, 0.00224, 1e-05, 1, 10),
        "seal-regression": Published(4, 300, 0.1, 300, 9.05, 1.0, None, None, 0.00139, 0.000155, 1e-05, 12, 5),
        "seal-regression-s": Published(5, 500, 0.2, 400, 0.0194, 1.0, 10, 0.091, 0.000212, 0.000935, 1e-05, 9, 10),
        "seal-nce": Published(4, 300, 0.1, 300, 1.0, 1.0, 40, None, 0.00821, 0.000544, 1e-05, 3, 10),
        "seal-ranking": Published(4, 300, 0.1, 300, 1.19, 1.0, 40, None, 0.00612, 0.00109, 1e-05, 3, 5),
    },
}

PARAMETERS = {
    "bibtex": (958_800, 991_000),
    "delicious": (754_000, 951_000),
    "genbase": (485_600, 491_400),
    "cal500": (1_123_500, 1_158_700),
    "eurlex-ev": (4_747_500, 5_546_500),
    "expr_FUN": (333_000, 533_800),
    "spo_FUN": (447_000, 597_600),
}
"""Numbers of parameters of predictor and energy (SEAL, Table 11; the paper has cal500's in each other's columns)."""
