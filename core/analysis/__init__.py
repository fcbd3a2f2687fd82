"""Readings of a trace and small experiments that explain why a step is as it is. Pure torch."""
