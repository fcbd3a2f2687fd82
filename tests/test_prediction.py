"""Guesses are judged by what changed, and each verdict has a reason that can be followed."""

import core
from core.changes import Put, Switch, align, apply, ripple
from core.experiments import BY_KEY
from core.prediction import guessable, judge, score

BLOCK = "blocks.0."


def verdicts(changes, guessed=(), preset="block", text=None, was=None):
    model = core.load("worked-example", preset=preset)
    text = text or model.default_prompt
    before, here = model.trace(was or text), model.trace(text)
    after = apply(here, changes).trace
    found = ripple(before, after, align(before.ids, after.ids))
    return {v.name: v for v in judge(before, after, found, guessed)}


def why(verdict):
    return verdict.changed, verdict.why, verdict.through


def test_nobody_is_asked_about_what_only_passes_on():
    names = guessable(core.load("worked-example", preset="block").trace([0, 1, 2]))
    assert BLOCK + "ln_1.out" in names and BLOCK + "attn.heads" in names
    assert not {"tokens.ids", BLOCK + "ln_1.mean", BLOCK + "resid_in", "ln_f.normed"} & set(names)


def test_a_weight_changes_its_step_and_what_reads_that():
    found = verdicts([Put(BLOCK + "attn.W_Q", (0, 0, 0), 0.5)])
    assert why(found[BLOCK + "attn.q"]) == (True, "weight", BLOCK + "attn.W_Q")
    assert why(found[BLOCK + "attn.scores"]) == (True, "reads", BLOCK + "attn.q")
    assert why(found[BLOCK + "attn.k"]) == (False, "apart", "")
    assert why(found["embed.sum"]) == (False, "apart", "")
    assert why(found[BLOCK + "attn.out"]) == (True, "reads", BLOCK + "attn.heads")  # past concat
    assert why(found[BLOCK + "ln_2.out"]) == (True, "reads", BLOCK + "resid_mid")  # past the mean


def test_what_the_mask_strikes_out_goes_no_further():
    found = verdicts([Put(BLOCK + "attn.scores", (0, 0, 2), 9.0)])
    assert why(found[BLOCK + "attn.scores"]) == (True, "by_hand", "")
    assert why(found[BLOCK + "attn.scores_masked"]) == (
        False,
        "masked",
        BLOCK + "attn.scores_scaled",
    )
    assert why(found[BLOCK + "attn.weights"]) == (False, "apart", "")


def test_a_switch_touches_the_step_that_it_stands_for():
    found = verdicts([Switch("mask", "off")])
    assert why(found[BLOCK + "attn.scores_masked"]) == (True, "switch", "")
    assert not found[BLOCK + "attn.scores"].changed
    gone = verdicts([Switch("position", "none")])
    assert gone["embed.position"].why == "gone" and gone["embed.sum"].why == "switch"


def test_a_multiplication_by_nothing_swallows_a_change():
    """A number of W_E for a word that the text does not have."""
    found = verdicts([Put("embed.W_E", (5, 0), 0.1)])
    assert why(found["embed.token"]) == (False, "absorbed", "")


def test_a_swap_without_position_only_moves_rows():
    swap = BY_KEY["swap_without"]
    found = verdicts((), preset=swap.preset, text=swap.prompt, was=swap.was)
    assert not any(v.changed for v in found.values())
    assert found["embed.token"].why == "moved"
    other = verdicts((), text="나는 물을 먹었다", was="나는 밥을 먹었다")
    assert why(other["embed.onehot"]) == (True, "text", "")


def test_the_score_counts_found_and_wrong():
    guessed = {BLOCK + "attn.q", BLOCK + "attn.k", "logits"}
    found = verdicts([Put(BLOCK + "attn.W_Q", (0, 0, 0), 0.5)], guessed)
    changed = [v for v in found.values() if v.changed]
    assert score(list(found.values())) == {"found": 2, "of": len(changed), "wrong": 1}
    assert found["logits"].right and not found[BLOCK + "attn.k"].right
    assert not found[BLOCK + "attn.scores"].right  # missed
