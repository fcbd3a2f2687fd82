"""A page of its own for the tests of the matrix grid and the opened number."""

import time

import streamlit as st
import torch

from core.graph import Graph, Scope
from core.models.config import Config
from core.models.gpt import gpt
from core.models.gpt2_tokenizer import gpt2_tokenizer
from core.models.model import Model
from core.view import changes, engine, matrix, opened
from core.view.component import bring_parts
from core.view.look import Look
from core.view.state import State
from core.view.texts import speaker

HOSTILE = "<img src=x onerror='window.hacked=1'> $x$ **b** ![i](https://example.org/i.png)"
PARTS = ["scores", "scores_scaled", "scores_masked", "weights"]


@st.cache_resource
def random_model() -> Model:
    """A GPT nobody trained, as wide and with as many tokens as real ones."""
    config = Config(n_layers=2, n_heads=4, d_model=160, n_vocab=50257, n_ctx=256)
    graph, sizes = Graph(), config.sizes()
    gpt(Scope(graph), config)
    make = torch.Generator().manual_seed(0)
    tensors = {
        name: torch.randn([sizes[axis] for axis in axes], generator=make) * 0.2
        for name, axes in graph.weights.items()
    }
    return Model("random", config, tensors, gpt2_tokenizer(), torch.device("cpu"), torch.float32)


@st.cache_resource
def random_trace(prompt: str):
    return random_model().trace(prompt)


def draw(key: str, name: str, index=None, *, legend=True, hint=True, **options):
    cut = matrix.cut(trace, name, index, **options)
    matrix.draw(look, key, [cut], legend=legend, hint=hint)


st.set_page_config(layout="wide")
bring_parts()
state = State()
t = speaker(state.choice("lang", ["en", "ko"], "en"))
show = state.choice("show", ["scores", "weights", "random", "hostile"], "scores")
preset = state.choice("preset", ["block", "part-2", "part-5"], "block")
model = random_model() if show == "random" else engine.load("worked-example", preset)
prompt = state.text("prompt", model.default_prompt or "the the the cat")
if show == "random":
    trace = random_trace(prompt)
else:
    trace = engine.trace(model.key, preset, tuple(model.tokenizer.encode(prompt)))
changes.begin(state, model)
compared = None
if show != "random" and st.session_state[changes.EDITS]:
    ids = tuple(model.tokenizer.encode(prompt))
    compared = engine.compared(model.key, preset, ids, ids, st.session_state[changes.EDITS])
    trace = compared.after
time.sleep(state.index("slow", 10_000, 0) / 1000)  # as a large model would be
head = state.index("head", model.config.n_heads, 0)
token = state.index("token", len(trace), len(trace) - 1)
look = Look(t, trace, state, 0, head, token, compared)

if show == "scores":
    names = [f"blocks.0.attn.{part}" for part in PARTS]
    cuts = [
        matrix.cut(trace, name, (head, None, None), title=part, note=trace.step(name).formula)
        for name, part in zip(names, PARTS, strict=True)
    ]
    matrix.draw(look, "four", cuts, follow=True)
    opened.panel(look)
    matrix.heads(look, "blocks.0.attn.weights")
    draw("q", "blocks.0.attn.q", (head, None, None), title="Q", legend=False)
    draw("kt", "blocks.0.attn.k", (head, None, None), transposed=True, title="Kᵀ")
    draw("resid", "blocks.0.resid_in", title="H", hint=False)
    draw("onehot", "embed.onehot", title="O", hint=False)
    draw("ids", "tokens.ids", title="IDs", hint=False)
elif show == "weights":
    index = (head, None, None)
    draw("wq", "blocks.0.attn.W_Q", index, title="W_Q")
    draw("wk", "blocks.0.attn.W_K", index, title="W_K")
    draw("gain", "blocks.0.attn.q", index, title="Q")
    draw("ids", "tokens.ids", title="IDs")
    opened.panel(look)
elif show == "hostile":
    said = {"title": HOSTILE, "note": HOSTILE, "row_labels": [HOSTILE] * 3}
    draw("hostile", "blocks.0.resid_in", **said)
    opened.panel(look)
else:
    index = (head, None, None)
    both = ["blocks.1.attn.scores_masked", "blocks.1.attn.weights"]
    matrix.heads(look, both[1])
    cuts = [matrix.cut(trace, name, index, title=name) for name in both]
    matrix.draw(look, "two", cuts, follow=True)
    opened.panel(look)
    draw("H", "blocks.1.resid_in", title="Residual stream")
    draw("W", "blocks.0.attn.W_Q", index, title="W_Q")
    draw("E", "embed.W_E", title="W_E")
    top = trace["logits"][-1].topk(8).indices.tolist()
    draw("top", "logits", (len(trace) - 1, top), title="logits")
st.button("Rerun")
state.publish()
