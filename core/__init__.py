"""A GPT whose every step has a name and can be looked at, explained and compared.

    model = core.load("bundled")
    trace = model.trace("The cat sat on")
    trace["blocks.0.attn.weights"]                           # tensor [head, query, key]
    print(trace.explain("blocks.0.attn.scores", (0, 2, 1)).text)

Importing this pulls in torch and tiktoken, but neither streamlit nor plotly.
"""

from core import models, snapshot
from core.generate.sampling import Distribution, SamplingError, Stage, distribution
from core.graph import EditError, Explanation, Factor, Ref, Step, StepDiff, Term, Trace, diff
from core.models.catalogue import ModelEntry, UnknownModel, load
from core.models.checkpoint import CheckpointError
from core.models.config import Config, ConfigError
from core.models.device import describe_device
from core.models.model import Candidate, ContextTooLong, EmptyPrompt, Model, PromptError
from core.models.tokenizer import UnknownId, UnknownWord
from core.models.weights import WeightsError

__all__ = [
    "Candidate",
    "CheckpointError",
    "Config",
    "ConfigError",
    "ContextTooLong",
    "Distribution",
    "EditError",
    "EmptyPrompt",
    "Explanation",
    "Factor",
    "Model",
    "ModelEntry",
    "PromptError",
    "Ref",
    "SamplingError",
    "Stage",
    "Step",
    "StepDiff",
    "Term",
    "Trace",
    "UnknownId",
    "UnknownModel",
    "UnknownWord",
    "WeightsError",
    "describe_device",
    "diff",
    "distribution",
    "load",
    "models",
    "snapshot",
]
