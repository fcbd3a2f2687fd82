"""A GPT in data-flow order: one line for each line of the mathematics.

Every value has a name, its axes, the op that computes it, and its formula. Handed a scope over a
`Graph` this code describes the model; over a `PlainForward` it runs it. There is no other forward.
"""

from __future__ import annotations

from functools import lru_cache

from core.graph.graph import Graph, Scope
from core.graph.op import Node
from core.graph.ops import (
    Activation,
    Add,
    Affine,
    Concat,
    Lookup,
    Mask,
    Mean,
    MeanSquare,
    Multiply,
    Normalize,
    OneHot,
    QueryKey,
    Rotate,
    Same,
    Scale,
    ScaleShift,
    Sinusoid,
    Softmax,
    Variance,
    WeightedSum,
)
from core.models.config import Config

# Rows at once of what is as wide as the vocabulary: enough for a product to be fast, and few enough
# for one of them to be had without the others.
TILE = 128
CURVES = {"gelu_tanh": "GELU", "gelu": "GELU", "relu": "ReLU", "silu": "SiLU", "none": "id"}


@lru_cache(maxsize=64)
def graph_of(config: Config, cached: bool = False) -> Graph:
    """The steps and weights of the model that `config` describes; see `gpt` for `cached`."""
    graph = Graph()
    gpt(Scope(graph), config, cached)
    return graph


def gpt(g: Scope, c: Config, cached: bool = False) -> Node:
    """Token IDs in, logits out; the last step turns them into probabilities.

    cached: the IDs continue a text whose keys and values are given, as a decode step has it.
    """
    ids = g.input("tokens.ids", "pos")
    positions = g.input("tokens.positions", "pos")
    stream = embedding(g, c, ids, positions)
    for i in range(c.n_layers):
        stream = block(g.within_block(i), c, stream, positions, cached)
    return unembedding(g, c, stream)


def embedding(g: Scope, c: Config, ids: Node, positions: Node) -> Node:
    """What each token means, plus where it stands."""
    W_E = g.weight("embed.W_E", "vocab d_model")
    onehot = OneHot(c.n_vocab)(ids)
    g.step("embed.onehot", "pos vocab", onehot, "O = one-hot(ids)", tile=TILE)
    token = g.step("embed.token", "pos d_model", Lookup()(W_E, ids), "X = O·W_E = W_E[ids]")
    if c.position == "learned":
        W_P = g.weight("embed.W_P", "ctx d_model")
        place, formula = Lookup()(W_P, positions), "P = W_P[positions]"
    elif c.position == "sinusoidal":
        place, formula = Sinusoid()(positions, token), "P = sin, cos(positions · rate)"
    else:
        return g.step("embed.sum", "pos d_model", Same()(token), "H₀ = X", keep=True)
    position = g.step("embed.position", "pos d_model", place, formula)
    return g.step("embed.sum", "pos d_model", Add()(token, position), "H₀ = X + P", keep=True)


def block(g: Scope, c: Config, stream: Node, positions: Node, cached: bool) -> Node:
    """Attention, then MLP; each reads the residual stream and adds to it.

    The norm stands before each part (GPT-2), or after each addition (the first Transformer).
    """
    pre, post = c.norm_placement == "pre", c.norm_placement == "post"
    resid_in = g.step("resid_in", "pos d_model", Same()(stream), "H", keep=True)
    attn_in = norm(g, c, "ln_1", resid_in) if pre else resid_in
    attn_out = attention(g, c, attn_in, positions, cached)
    resid_mid = residual(g, c, "attn", "resid_mid", resid_in, attn_out)
    middle = norm(g, c, "ln_1", resid_mid) if post else resid_mid
    if not c.d_mlp:
        return g.step("resid_out", "pos d_model", Same()(middle), "H″ = H′", keep=True)
    mlp_in = norm(g, c, "ln_2", middle) if pre else middle
    mlp_out = mlp(g, c, mlp_in)
    resid_out = residual(g, c, "mlp", "resid_out", middle, mlp_out)
    return norm(g, c, "ln_2", resid_out) if post else resid_out


def attention(g: Scope, c: Config, x: Node, positions: Node, cached: bool) -> Node:
    """Each token collects from the tokens it looks at."""
    W_Q = g.weight("attn.W_Q", "head d_model d_head")
    W_K = g.weight("attn.W_K", "kv_head d_model d_head")
    W_V = g.weight("attn.W_V", "kv_head d_model d_head")
    b_Q = g.weight("attn.b_Q", "head d_head", c.bias_qkv)
    b_K = g.weight("attn.b_K", "kv_head d_head", c.bias_qkv)
    b_V = g.weight("attn.b_V", "kv_head d_head", c.bias_qkv)
    W_O = g.weight("attn.W_O", "concat d_model")
    b_O = g.weight("attn.b_O", "d_model", c.bias_out)

    q = g.step("attn.q", "head pos d_head", Affine()(x, W_Q, b_Q), "Q = X·W_Q" + plus(b_Q))
    k = g.step("attn.k", "kv_head pos d_head", Affine()(x, W_K, b_K), "K = X·W_K" + plus(b_K))
    v = g.step("attn.v", "kv_head pos d_head", Affine()(x, W_V, b_V), "V = X·W_V" + plus(b_V))
    if c.position == "rotary":
        turn = Rotate(c.rotary_base, c.rotary_layout, c.rotary_stretch)
        query = g.step("attn.q_rotated", "head pos d_head", turn(q, positions), "Q′ = rotate(Q)")
        key = g.step("attn.k_rotated", "kv_head pos d_head", turn(k, positions), "K′ = rotate(K)")
    else:
        query, key = q, k
    past_k = g.input("cache.k", "kv_head past d_head") if cached else None
    past_v = g.input("cache.v", "kv_head past d_head") if cached else None

    attend = "head query key"
    score_formula = "S = Q′·K′ᵀ" if c.position == "rotary" else "S = Q·Kᵀ"
    divisor, scaled_formula = (c.d_head**0.5, "S / √d_k") if c.scaled else (1.0, "S, not scaled")
    mask_formula = "later keys → −∞" if c.causal else "no mask"
    scores = g.step("attn.scores", attend, QueryKey()(query, key, past_k), score_formula)
    scaled = g.step("attn.scores_scaled", attend, Scale(divisor)(scores), scaled_formula)
    masked = g.step("attn.scores_masked", attend, Mask(c.causal)(scaled), mask_formula)
    weights = g.step("attn.weights", attend, Softmax()(masked), "A = softmax(S)")
    heads = g.step("attn.heads", "head pos d_head", WeightedSum()(weights, v, past_v), "Z = A·V")
    concat = g.step("attn.concat", "pos concat", Concat()(heads), "[Z¹ … Zʰ]")
    mixed = Affine()(concat, W_O, b_O)
    return g.step("attn.out", "pos d_model", mixed, "concat·W_O" + plus(b_O), keep=True)


def mlp(g: Scope, c: Config, x: Node) -> Node:
    """Each token by itself: expand, activate, contract."""
    b_1 = g.weight("mlp.b_1", "d_mlp", c.bias_mlp)
    W_2 = g.weight("mlp.W_2", "d_mlp d_model")
    b_2 = g.weight("mlp.b_2", "d_model", c.bias_mlp)
    activate, curve = Activation(c.activation), CURVES[c.activation]
    if c.gated:
        W_gate = g.weight("mlp.W_gate", "d_model d_mlp")
        W_up = g.weight("mlp.W_up", "d_model d_mlp")
        gate = g.step("mlp.gate", "pos d_mlp", Affine()(x, W_gate), "G = X·W_gate")
        up = g.step("mlp.up", "pos d_mlp", Affine()(x, W_up, b_1), "U = X·W_up" + plus(b_1))
        act = g.step("mlp.act", "pos d_mlp", activate(gate), f"{curve}(G)")
        inner = g.step("mlp.product", "pos d_mlp", Multiply()(act, up), f"{curve}(G)⊙U")
    else:
        W_1 = g.weight("mlp.W_1", "d_model d_mlp")
        expanded = Affine()(x, W_1, b_1)
        hidden = g.step("mlp.hidden", "pos d_mlp", expanded, "X·W_1" + plus(b_1))
        inner = g.step("mlp.act", "pos d_mlp", activate(hidden), f"{curve}(hidden)")
    contracted = Affine()(inner, W_2, b_2)
    read = "product" if c.gated else "act"
    return g.step("mlp.out", "pos d_model", contracted, f"{read}·W_2" + plus(b_2), keep=True)


def unembedding(g: Scope, c: Config, stream: Node) -> Node:
    """A score for every token of the vocabulary, from every position."""
    final = norm(g, c, "ln_f", stream)
    if c.tied:
        W_E = g.weight("embed.W_E", "vocab d_model")
        scores, formula = Affine(transposed=True)(final, W_E), "H·W_Eᵀ"
    else:
        W_U = g.weight("unembed.W_U", "d_model vocab")
        scores, formula = Affine()(final, W_U), "H·W_U"
    logits = g.step("logits", "pos vocab", scores, formula, tile=TILE)
    g.step("probs", "pos vocab", Softmax()(logits), "softmax(logits)", tile=TILE)
    return logits


def residual(g: Scope, c: Config, part: str, name: str, stream: Node, added: Node) -> Node:
    """The stream plus what a part adds, or that alone where the model has no shortcut."""
    if part in c.residual:
        return g.step(name, "pos d_model", Add()(stream, added), f"H + {part}.out", keep=True)
    return g.step(name, "pos d_model", Same()(added), f"{part}.out", keep=True)


def norm(g: Scope, c: Config, name: str, x: Node) -> Node:
    """Each row on a common scale, then stretched and shifted by learned amounts."""
    if c.norm == "none" or name not in c.norms:
        return x
    gamma = g.weight(f"{name}.gamma", "d_model")
    beta = g.weight(f"{name}.beta", "d_model", c.norm == "layer" and c.norm_beta)
    if c.norm == "layer":
        mean = g.step(f"{name}.mean", "pos", Mean()(x), "μ = mean(x)")
        var = g.step(f"{name}.var", "pos", Variance()(x, mean), "σ² = mean((x − μ)²)")
        normed_call, formula = Normalize(c.norm_eps)(x, mean, var), "(x − μ) / √(σ² + ε)"
    else:
        square = g.step(f"{name}.mean_square", "pos", MeanSquare()(x), "mean(x²)")
        normed_call, formula = Normalize(c.norm_eps)(x, square), "x / √(mean(x²) + ε)"
    normed = g.step(f"{name}.normed", "pos d_model", normed_call, formula)
    stretched = ScaleShift()(normed, gamma, beta)
    return g.step(f"{name}.out", "pos d_model", stretched, "γ·n" + plus(beta))


def plus(bias: Node | None) -> str:
    """How a formula goes on where the model has this bias."""
    symbol = bias.name.rpartition(".")[2].replace("beta", "β") if bias else ""
    return f" + {symbol}" if bias else ""
