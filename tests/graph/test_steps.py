"""Which steps there are: names, order, axes, shapes, inputs."""

import pytest

from core.graph import Graph, Scope
from core.graph.op import Input
from core.models.config import Config
from core.models.gpt import gpt
from tests.support.random_models import LLAMA, SMALL
from tests.support.subjects import SUBJECTS, subject_id, subject_trace


def listed(names: str) -> list[str]:
    return names.split()


GPT2_BLOCK = listed("""
resid_in
ln_1.mean ln_1.var ln_1.normed ln_1.out
attn.q attn.k attn.v attn.scores attn.scores_scaled attn.scores_masked attn.weights
attn.heads attn.concat attn.out
resid_mid
ln_2.mean ln_2.var ln_2.normed ln_2.out
mlp.hidden mlp.act mlp.out
resid_out
""")
LLAMA_BLOCK = listed("""
resid_in
ln_1.mean_square ln_1.normed ln_1.out
attn.q attn.k attn.v attn.q_rotated attn.k_rotated
attn.scores attn.scores_scaled attn.scores_masked attn.weights
attn.heads attn.concat attn.out
resid_mid
ln_2.mean_square ln_2.normed ln_2.out
mlp.gate mlp.up mlp.act mlp.product mlp.out
resid_out
""")
POST_NORM_BLOCK = listed("""
resid_in
attn.q attn.k attn.v attn.scores attn.scores_scaled attn.scores_masked attn.weights
attn.heads attn.concat attn.out
resid_mid
ln_1.mean ln_1.var ln_1.normed ln_1.out
mlp.hidden mlp.act mlp.out
resid_out
ln_2.mean ln_2.var ln_2.normed ln_2.out
""")
GPT2_WEIGHTS = listed("""
embed.W_E embed.W_P
blocks.0.ln_1.gamma blocks.0.ln_1.beta
blocks.0.attn.W_Q blocks.0.attn.W_K blocks.0.attn.W_V
blocks.0.attn.b_Q blocks.0.attn.b_K blocks.0.attn.b_V
blocks.0.attn.W_O blocks.0.attn.b_O
blocks.0.ln_2.gamma blocks.0.ln_2.beta
blocks.0.mlp.W_1 blocks.0.mlp.b_1 blocks.0.mlp.W_2 blocks.0.mlp.b_2
ln_f.gamma ln_f.beta
""")
LLAMA_WEIGHTS = listed("""
embed.W_E
blocks.0.ln_1.gamma
blocks.0.attn.W_Q blocks.0.attn.W_K blocks.0.attn.W_V blocks.0.attn.W_O
blocks.0.ln_2.gamma
blocks.0.mlp.W_gate blocks.0.mlp.W_up blocks.0.mlp.W_2
ln_f.gamma unembed.W_U
""")
AXES = {
    "tokens.ids": "pos",
    "embed.onehot": "pos vocab",
    "embed.sum": "pos d_model",
    "ln_1.mean": "pos",
    "ln_1.mean_square": "pos",
    "attn.q": "head pos d_head",
    "attn.q_rotated": "head pos d_head",
    "attn.k": "kv_head pos d_head",
    "attn.k_rotated": "kv_head pos d_head",
    "attn.v": "kv_head pos d_head",
    "attn.scores": "head query key",
    "attn.scores_scaled": "head query key",
    "attn.scores_masked": "head query key",
    "attn.weights": "head query key",
    "attn.heads": "head pos d_head",
    "attn.concat": "pos concat",
    "attn.out": "pos d_model",
    "mlp.hidden": "pos d_mlp",
    "mlp.gate": "pos d_mlp",
    "mlp.out": "pos d_model",
    "resid_out": "pos d_model",
    "logits": "pos vocab",
    "probs": "pos vocab",
}
each_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=subject_id)


def graph_of(**settings) -> Graph:
    graph = Graph()
    gpt(Scope(graph), Config(**SMALL | settings))
    return graph


def blocks(names: list[str], n: int) -> list[str]:
    return [f"blocks.{i}.{name}" for i in range(n) for name in names]


def test_order_of_gpt2():
    first = listed("tokens.ids tokens.positions embed.onehot embed.token embed.position embed.sum")
    last = listed("ln_f.mean ln_f.var ln_f.normed ln_f.out logits probs")
    assert list(graph_of().steps) == [*first, *blocks(GPT2_BLOCK, 2), *last]


def test_order_of_llama():
    first = listed("tokens.ids tokens.positions embed.onehot embed.token embed.sum")
    last = listed("ln_f.mean_square ln_f.normed ln_f.out logits probs")
    assert list(graph_of(**LLAMA).steps) == [*first, *blocks(LLAMA_BLOCK, 2), *last]


def test_order_of_the_first_transformer():
    graph = graph_of(norm_placement="post", position="sinusoidal", norms=("ln_1", "ln_2"))
    assert [name for name in graph.steps if "blocks." in name] == blocks(POST_NORM_BLOCK, 2)


def test_weights_of_gpt2():
    assert sorted(graph_of(n_layers=1).weights) == sorted(GPT2_WEIGHTS)


def test_weights_of_llama():
    assert sorted(graph_of(n_layers=1, **LLAMA).weights) == sorted(LLAMA_WEIGHTS)


@pytest.mark.parametrize("settings", [{}, LLAMA], ids=["gpt2", "llama"])
def test_axes(settings):
    steps = graph_of(**settings).steps.values()
    known = [step for step in steps if step.role in AXES]
    assert len(known) > 30
    assert {step.role: " ".join(step.axes) for step in known} == {
        step.role: AXES[step.role] for step in known
    }


@each_subject
def test_shapes_from_axes_are_the_real_ones(subject):
    trace = subject_trace(subject)
    for name in trace.steps:
        assert trace.shape(name) == tuple(trace[name].shape), name
    for name, weight in trace.weights.items():
        assert trace.shape(name) == tuple(weight.shape), name


@each_subject
def test_inputs_come_before_the_step(subject):
    graph, before = subject_trace(subject).graph, set(subject_trace(subject).weights)
    for name, step in graph.steps.items():
        assert before.issuperset(step.inputs), name
        assert step.inputs or isinstance(step.op, Input), name
        before.add(name)


@each_subject
def test_every_weight_is_used(subject):
    graph = subject_trace(subject).graph
    used = {part for step in graph.steps.values() for part in step.inputs}
    assert used.issuperset(graph.weights)


@each_subject
def test_every_step_leads_to_the_end(subject):
    """All but the one-hot picture lie on the way to the probabilities."""
    trace = subject_trace(subject)
    needed = {step.name for step in trace.graph.plan(["probs"], have=()).steps}
    aside = set(trace.steps) - needed
    assert aside <= {"embed.onehot", "tokens.positions"}


def test_role_and_block():
    step = graph_of()["blocks.1.attn.scores"]
    assert (step.role, step.block) == ("attn.scores", 1)
    assert (graph_of()["logits"].role, graph_of()["logits"].block) == ("logits", None)


@each_subject
def test_every_computed_step_has_a_formula(subject):
    for step in subject_trace(subject).graph.steps.values():
        assert bool(step.formula) != isinstance(step.op, Input), step.name


def test_formula_names_a_bias_only_where_there_is_one():
    assert graph_of()["blocks.0.attn.q"].formula == "Q = X·W_Q + b_Q"
    assert graph_of(bias_qkv=False)["blocks.0.attn.q"].formula == "Q = X·W_Q"
    assert graph_of()["ln_f.out"].formula == "γ·n + β"
    assert graph_of(norm_beta=False)["ln_f.out"].formula == "γ·n"


def test_two_steps_cannot_share_a_name():
    graph = Graph()
    Scope(graph).input("tokens.ids", "pos")
    with pytest.raises(ValueError, match=r"two steps are called 'tokens\.ids'"):
        Scope(graph).input("tokens.ids", "pos")


def test_unknown_step_suggests_similar_ones():
    with pytest.raises(KeyError, match=r"did you mean.*blocks\.0\.attn\.weights"):
        graph_of()["blocks.0.attn.wieghts"]
    with pytest.raises(KeyError, match="no step is called 'zzz'") as error:
        graph_of()["zzz"]
    assert "did you mean" not in str(error.value)
