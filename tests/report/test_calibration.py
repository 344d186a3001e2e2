"""The words of the section on calibration."""

import numpy as np
import pytest

from enstruct.report.calibration import calibration_section
from enstruct.report.reliability import binned


@pytest.mark.parametrize(("p", "there", "said"), [(0.9, False, "90.00 points too high"), (0.2, True, "80.00 points too low")])
def test_which_way_probabilities_lean(p, there, said):
    section = calibration_section(binned(np.full(50, p), np.full(50, there)), "labels", "Of a label.")
    assert said in str(section.blocks[0])
