"""The parts of tools/train_bundled.py: texts, model, training windows."""
