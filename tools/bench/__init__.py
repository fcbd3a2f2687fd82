"""How fast the engine is beside other libraries: `python -m tools.bench`."""
