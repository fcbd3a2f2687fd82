"""A GPT in plain numpy, float64, written from the papers: the oracle for the engine.

It shares no code with `core`: it reads a config as a plain dict and weights as arrays, loops where
loops are clearer than tricks, and returns every intermediate value by name, in execution order.
Elements of a step may be set by hand: what follows is computed from them.
"""

import math

import numpy as np

erf = np.vectorize(math.erf, otypes=[float])
ACTIVATIONS = {
    "relu": lambda z: np.where(z > 0, z, 0.0),
    "gelu": lambda z: z * (1 + erf(z / math.sqrt(2))) / 2,
    "gelu_tanh": lambda z: z * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3))) / 2,
    "silu": lambda z: z / (1 + np.exp(-z)),
    "none": lambda z: z,
}


def run(
    config: dict, weights: dict[str, np.ndarray], ids: list[int], edits: dict | None = None
) -> dict[str, np.ndarray]:
    """Every step of the model for one prompt.

    edits: elements of steps to set, {name: {index: value}}; None in an index is a whole axis.
    """
    values = {"tokens.ids": np.array(ids), "tokens.positions": np.arange(len(ids))}
    whole = Part(weights, values, "", edits or {})
    x = embedding(config, whole)
    for i in range(config["n_layers"]):
        x = block(config, Part(weights, values, f"blocks.{i}.", edits or {}), x)
    x = norm(config, whole, "ln_f", x)
    unembed = weights["embed.W_E"].T if config["tied"] else weights["unembed.W_U"]
    logits = whole.keep("logits", x @ unembed)
    whole.keep("probs", softmax(logits))
    return values


class Part:
    """The weights and values whose names begin alike."""

    def __init__(self, weights: dict, values: dict, prefix: str, edits: dict) -> None:
        self.weights, self.values, self.prefix, self.edits = weights, values, prefix, edits

    def weight(self, name: str, absent: float = 0.0) -> np.ndarray | float:
        return self.weights.get(self.prefix + name, absent)

    def keep(self, name: str, value: np.ndarray) -> np.ndarray:
        name = self.prefix + name
        assert name not in self.values
        self.values[name] = value = value.copy()
        for index, new in self.edits.get(name, {}).items():
            value[tuple(slice(None) if i is None else i for i in index)] = new
        return value


def embedding(config: dict, part: Part) -> np.ndarray:
    ids, d = part.values["tokens.ids"], config["d_model"]
    onehot = np.equal.outer(ids, np.arange(config["n_vocab"])).astype(float)
    x = part.keep("embed.token", part.keep("embed.onehot", onehot) @ part.weight("embed.W_E"))
    position = np.zeros_like(x)
    if config["position"] == "learned":
        position = part.keep("embed.position", part.weight("embed.W_P")[: len(ids)])
    elif config["position"] == "sinusoidal":
        table = [[sinusoid(p, j, d) for j in range(d)] for p in range(len(ids))]
        position = part.keep("embed.position", np.array(table))
    return part.keep("embed.sum", x + position)


def sinusoid(position: int, column: int, d_model: int) -> float:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i+1) = cos of the same."""
    i = column // 2
    angle = position / 10000 ** (2 * i / d_model)
    return math.sin(angle) if column == 2 * i else math.cos(angle)


def block(config: dict, part: Part, x: np.ndarray) -> np.ndarray:
    pre = config["norm_placement"] == "pre"
    x = part.keep("resid_in", x)
    out = attention(config, part, norm(config, part, "ln_1", x) if pre else x)
    x = part.keep("resid_mid", x + out if "attn" in config["residual"] else out)
    if not pre:
        x = norm(config, part, "ln_1", x)
    if config["d_mlp"]:
        out = mlp(config, part, norm(config, part, "ln_2", x) if pre else x)
        x = x + out if "mlp" in config["residual"] else out
    x = part.keep("resid_out", x)
    if config["d_mlp"] and not pre:
        x = norm(config, part, "ln_2", x)
    return x


def norm(config: dict, part: Part, name: str, x: np.ndarray) -> np.ndarray:
    if config["norm"] == "none" or name not in config["norms"]:
        return x
    if config["norm"] == "layer":
        mean = part.keep(f"{name}.mean", x.sum(axis=1) / x.shape[1])
        var = part.keep(f"{name}.var", ((x.T - mean) ** 2).sum(axis=0) / x.shape[1])
        normed = (x.T - mean) / np.sqrt(var + config["norm_eps"])
    else:
        mean_square = part.keep(f"{name}.mean_square", (x**2).sum(axis=1) / x.shape[1])
        normed = x.T / np.sqrt(mean_square + config["norm_eps"])
    normed = part.keep(f"{name}.normed", normed.T)
    gamma, beta = part.weight(f"{name}.gamma"), part.weight(f"{name}.beta")
    return part.keep(f"{name}.out", normed * gamma + beta)


def attention(config: dict, part: Part, x: np.ndarray) -> np.ndarray:
    q, k, v = (part.keep(f"attn.{c.lower()}", project(part, c, x)) for c in "QKV")
    if config["position"] == "rotary":
        q = part.keep("attn.q_rotated", np.array([rotate(config, head) for head in q]))
        k = part.keep("attn.k_rotated", np.array([rotate(config, head) for head in k]))
    shared = [h // (len(q) // len(k)) for h in range(len(q))]
    scores = part.keep("attn.scores", np.array([q[h] @ k[shared[h]].T for h in range(len(q))]))
    scale = 1 / math.sqrt(config["d_head"]) if config["scaled"] else 1.0
    scaled = part.keep("attn.scores_scaled", scores * scale)
    masked = scaled.copy()
    if config["causal"]:
        for query in range(len(x)):
            masked[:, query, query + 1 :] = -np.inf
    masked = part.keep("attn.scores_masked", masked)
    weights = part.keep("attn.weights", softmax(masked))
    heads = part.keep("attn.heads", np.array([w @ v[shared[h]] for h, w in enumerate(weights)]))
    concat = part.keep("attn.concat", np.concatenate(list(heads), axis=1))
    return part.keep("attn.out", concat @ part.weight("attn.W_O") + part.weight("attn.b_O"))


def project(part: Part, letter: str, x: np.ndarray) -> np.ndarray:
    """[head, pos, d_head]"""
    matrices = part.weight(f"attn.W_{letter}")
    biases = part.weight(f"attn.b_{letter}", absent=np.zeros(len(matrices)))
    return np.array([x @ matrix + bias for matrix, bias in zip(matrices, biases, strict=True)])


def rotate(config: dict, x: np.ndarray) -> np.ndarray:
    """Each pair of x [pos, d_head] as one complex number, times e^(i·angle)."""
    n, d = x.shape
    if config["rotary_layout"] == "half":
        pairs = [(i, i + d // 2) for i in range(d // 2)]
    else:
        pairs = [(2 * i, 2 * i + 1) for i in range(d // 2)]
    turned = np.empty_like(x)
    for i, (a, b) in enumerate(pairs):
        angle = np.arange(n) * config["rotary_base"] ** (-2 * i / d)
        z = (x[:, a] + 1j * x[:, b]) * np.exp(1j * angle)
        turned[:, a], turned[:, b] = z.real, z.imag
    return turned


def mlp(config: dict, part: Part, x: np.ndarray) -> np.ndarray:
    activate = ACTIVATIONS[config["activation"]]
    if config["gated"]:
        gate = part.keep("mlp.gate", x @ part.weight("mlp.W_gate"))
        up = part.keep("mlp.up", x @ part.weight("mlp.W_up") + part.weight("mlp.b_1"))
        inner = part.keep("mlp.product", part.keep("mlp.act", activate(gate)) * up)
    else:
        hidden = part.keep("mlp.hidden", x @ part.weight("mlp.W_1") + part.weight("mlp.b_1"))
        inner = part.keep("mlp.act", activate(hidden))
    return part.keep("mlp.out", inner @ part.weight("mlp.W_2") + part.weight("mlp.b_2"))


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
