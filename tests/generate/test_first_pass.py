"""One pass over a text holds what a cache that it filled holds, without a copy."""

from core.generate.cache import FirstPass, KVCache
from core.graph import Step
from tests.support.close import same_bits
from tests.support.random_models import IDS, random_model


def test_it_holds_what_a_cache_filled_by_it_holds():
    model = random_model("llama")
    trace = model.trace(IDS)
    cache, one = KVCache(model), FirstPass(trace)
    cache.append(trace)
    assert (len(one), one.nbytes) == (len(cache), cache.nbytes)
    assert all(same_bits(one.held(name), held) for name, held in cache.values().items())


def test_only_what_is_looked_at_is_computed(monkeypatch):
    computed, compute = [], Step.compute

    def noted(step, *inputs):
        computed.append(step.name)
        return compute(step, *inputs)

    monkeypatch.setattr(Step, "compute", noted)
    one = FirstPass(random_model("gpt2").trace(IDS))
    assert len(one) and one.nbytes and not computed
    one.held("blocks.0.cache.v")
    assert "blocks.0.attn.v" in computed
    assert not {"blocks.0.attn.k", "blocks.1.resid_in"} & {*computed}
