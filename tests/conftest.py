"""For all tests."""

import torch

# The tensors of most tests are tiny: a second thread only waits for the first, and when other
# work runs on the machine it waits long.
torch.set_num_threads(1)
