"""What distinguishes one GPT from another: numbers and switches, no code."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields

from core.graph.ops import Interpolation, Stretch

NORMS = ("ln_1", "ln_2", "ln_f")
RESIDUALS = ("attn", "mlp")
CHOICES = {
    "position": ("learned", "rotary", "sinusoidal", "none"),
    "norm": ("layer", "rms", "none"),
    "norm_placement": ("pre", "post"),
    "activation": ("gelu_tanh", "gelu", "relu", "silu", "none"),
    "rotary_layout": ("half", "interleaved"),
}


class ConfigError(ValueError):
    """A configuration that no model can have."""


@dataclass(frozen=True)
class Config:
    """The shape and the switches of a GPT; the defaults are GPT-2's.

    d_head, n_kv_heads and d_mlp follow from the other numbers unless given: d_model / n_heads,
    n_heads and 4·d_model. d_mlp = 0 means no MLP.
    norms and residual name the places that have one; True stands for all, False for none.
    Raises ConfigError.
    """

    n_layers: int
    n_heads: int
    d_model: int
    n_vocab: int
    n_ctx: int
    d_head: int | None = None
    n_kv_heads: int | None = None
    d_mlp: int | None = None
    position: str = "learned"
    rotary_base: float = 10000.0
    rotary_layout: str = "half"
    rotary_stretch: Interpolation | Stretch | None = None
    norm: str = "layer"
    norms: tuple[str, ...] = NORMS
    norm_placement: str = "pre"
    norm_eps: float = 1e-5
    norm_beta: bool = True
    activation: str = "gelu_tanh"
    gated: bool = False
    bias_qkv: bool = True
    bias_out: bool = True
    bias_mlp: bool = True
    causal: bool = True
    scaled: bool = True
    residual: tuple[str, ...] = RESIDUALS
    tied: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.rotary_stretch, dict):  # as `to_dict` gave it
            kind = Stretch if "few" in self.rotary_stretch else Interpolation
            object.__setattr__(self, "rotary_stretch", kind(**self.rotary_stretch))
        if self.d_head is None and self.n_heads > 0 and self.d_model % self.n_heads:
            raise ConfigError(
                f"d_model = {self.d_model} cannot be cut into {self.n_heads} heads; give d_head"
            )
        self._default("d_head", self.d_model // max(self.n_heads, 1))  # 0 heads: see _check
        self._default("n_kv_heads", self.n_heads)
        self._default("d_mlp", 4 * self.d_model)
        self._places("norms", NORMS)
        self._places("residual", RESIDUALS)
        self._check()

    @classmethod
    def from_dict(cls, values: dict) -> Config:
        """A config from what `to_dict` gave; raises ConfigError for a field that does not exist."""
        unknown = values.keys() - {field.name for field in fields(cls)}
        if unknown:
            raise ConfigError(f"a model has no setting called {', '.join(sorted(unknown))}")
        return cls(**values)

    def to_dict(self) -> dict:
        return asdict(self)

    def sizes(self) -> dict[str, int]:
        """The length of every axis word that does not depend on the prompt."""
        return {
            "vocab": self.n_vocab,
            "ctx": self.n_ctx,
            "d_model": self.d_model,
            "head": self.n_heads,
            "kv_head": self.n_kv_heads,
            "d_head": self.d_head,
            "concat": self.n_heads * self.d_head,
            "d_mlp": self.d_mlp,
        }

    def _default(self, name: str, value: int) -> None:
        if getattr(self, name) is None:
            object.__setattr__(self, name, value)

    def _places(self, name: str, every: tuple[str, ...]) -> None:
        value = getattr(self, name)
        if isinstance(value, bool):
            value = every if value else ()
        if unknown := set(value) - set(every):
            raise ConfigError(f"{name}: {sorted(unknown)} is none of {', '.join(every)}")
        object.__setattr__(self, name, tuple(place for place in every if place in value))

    def _check(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ConfigError(
                    f"{name} is {getattr(self, name)!r}; it can be {', '.join(choices)}"
                )
        for name in ("n_heads", "n_kv_heads", "d_model", "d_head", "n_vocab", "n_ctx"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if not (self.norm_eps > 0 and self.rotary_base > 0):
            raise ConfigError("norm_eps and rotary_base must be greater than 0")
        if self.rotary_stretch and not self.rotary_stretch.possible:
            raise ConfigError(f"rotary angles cannot be stretched so: {self.rotary_stretch}")
        if self.n_layers < 0 or self.d_mlp < 0:
            raise ConfigError("n_layers and d_mlp cannot be negative")
        if self.n_heads % self.n_kv_heads:
            raise ConfigError(
                f"{self.n_heads} query heads cannot share {self.n_kv_heads} key-value heads evenly"
            )
        if self.position == "rotary" and self.d_head % 2:
            raise ConfigError(f"rotary positions turn pairs: d_head = {self.d_head} must be even")
