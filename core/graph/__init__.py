"""A GPT as a spreadsheet of tensors: steps, ops, graph, trace, explanation, diff."""

from core.graph.diff import Pair, StepDiff, compare, compare_all, diff
from core.graph.edit import EditError, Edits, merged
from core.graph.explain import Explanation, Factor, Ref, Term
from core.graph.graph import Graph, PlainForward, Scope, Step
from core.graph.op import Cost, Node, Op
from core.graph.recent import Recent
from core.graph.trace import Trace

__all__ = [
    "Cost",
    "EditError",
    "Edits",
    "Explanation",
    "Factor",
    "Graph",
    "Node",
    "Op",
    "Pair",
    "PlainForward",
    "Recent",
    "Ref",
    "Scope",
    "Step",
    "StepDiff",
    "Term",
    "Trace",
    "compare",
    "compare_all",
    "diff",
    "merged",
]
