"""Energies as joint distributions exp(-E)/Z over label sets: conditionals, samples and log-probabilities."""

from enstruct.joint.distribution import Joint as Joint
