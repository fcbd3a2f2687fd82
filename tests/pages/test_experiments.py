"""Experiments that run on every page, and guessing first, driven without a browser."""

import json
import re
from urllib.parse import parse_qsl, urlencode

import pytest

from core.experiments import BY_KEY, EXPERIMENTS
from core.view import texts
from core.view.html import esc
from core.view.state import CLICK
from core.view.strip import FILES, STOPS
from tests.support.app import boards, components, drawn, open_page, pictures, said

EN, KO = texts.load("en"), texts.load("ko")
KEYS = [experiment.key for experiment in EXPERIMENTS]


def started(key, page=None, **more):
    """A page with a running experiment, as its link shows it; by default its first page."""
    experiment = BY_KEY[key]
    return open_page(page or experiment.pages[0], **experiment.state() | more)


def click(at, html):
    """Follow the link of a piece of HTML as the page's script does, on the same page."""
    at.session_state[CLICK] = dict(re.findall(r'([\w-]+)="([^"]*)"', html.replace("&amp;", "&")))[
        "data-set"
    ]
    at.run()
    assert not at.exception
    return at


def address(at):
    """The parameters in the address bar."""
    values = dict(at.query_params)
    return {key: value[0] if isinstance(value, list) else value for key, value in values.items()}


def link(at, label):
    """The tag of the link with this text."""
    (found,) = re.findall(rf"<a [^>]*>{re.escape(esc(label))}</a>", drawn(at))
    return found


def test_experiments_lead_to_pages_and_stops_that_exist():
    for experiment in EXPERIMENTS:
        assert set(experiment.pages) <= set(FILES) and experiment.stop in STOPS


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_each_experiment_has_a_card_that_starts_it(lang):
    at = open_page("experiments", lang=lang)
    assert drawn(at).count('class="card"') == len(EXPERIMENTS)
    for key in KEYS:
        asks = texts.text(lang, f"experiments.of.{key}.asks")
        assert esc(asks) in drawn(at)
        query = urlencode(BY_KEY[key].state())
        assert all(esc(part) in drawn(at) for part in query.split("&"))


@pytest.mark.parametrize("page", sorted(FILES))
def test_every_page_opens_under_every_experiment(page):
    """One after the other in one session, as in a lesson."""
    at = open_page(page, lang="en")
    for key in KEYS:
        at.session_state[CLICK] = urlencode(BY_KEY[key].state())
        at.run()
        assert not at.exception, key
        assert EN[f"experiments.of.{key}.look"] in said(at), key
        assert "{" not in said(at), key


def test_every_experiment_speaks_korean_too():
    at = open_page("overview", lang="ko")
    for key in KEYS:
        at.session_state[CLICK] = urlencode(BY_KEY[key].state())
        at.run()
        assert not at.exception, key
        assert KO[f"experiments.of.{key}.asks"] in said(at), key
        assert KO[f"experiments.of.{key}.look"] in said(at), key


def test_a_lesson_ends_with_the_experiments_that_belong_there():
    scores = said(open_page("scores", lang="en"))
    row = scores[scores.rindex(EN["experiments.row"]) :]
    assert EN["experiments.of.unmasked.title"] in row
    assert EN["experiments.of.gamma.title"] not in row


def test_ending_brings_back_what_was_there_before():
    mine = {"model": "bundled", "prompt": "She was very happy to", "token": "2", "lang": "en"}
    at = open_page("scores", **mine)
    edits = "v1~~blocks.0.attn.weights~0-1-0~0.5"
    at.session_state[CLICK] = urlencode({"edits": edits})
    at.run()
    for key in ("unmasked", "unscaled"):  # from one to the next, without ending the first
        at.session_state[CLICK] = urlencode(BY_KEY[key].state())
        at.run()
        assert address(at)["experiment"] == key
    click(at, link(at, EN["experiments.end"]))
    assert address(at) == {"prompt": "She was very happy to", "token": "2", "edits": edits}


def test_ending_one_that_came_by_a_link_keeps_the_text():
    at = started("causality", lang="en")
    click(at, link(at, EN["experiments.end"]))
    assert at.session_state["prompt"] == BY_KEY["causality"].was
    assert not at.session_state["was"] and not at.session_state["edits"]
    assert EN["experiments.of.causality.look"] not in said(at)


@pytest.mark.parametrize(
    "change", [{"do": "add.mask~off"}, {"prompt": "And God said"}, {"model": "worked-example"}]
)
def test_an_experiment_ends_when_it_is_no_longer_the_same(change):
    at = started("unscaled", lang="en")
    at.session_state[CLICK] = urlencode(change)
    at.run()
    assert not at.exception and "experiment" not in address(at)
    assert EN["experiments.of.unscaled.look"] not in said(at)


def test_switching_the_change_off_and_on_keeps_it_running():
    at = started("unscaled", lang="en")
    at.session_state[CLICK] = "do=flip.0"
    at.run()
    assert address(at)["experiment"] == "unscaled"


def test_an_unknown_experiment_is_said():
    at = open_page("scores", lang="en", experiment="<b>x</b>")
    assert not at.exception and "experiment = “<b>x</b>”" in said(at)


# Predict first

HAND = {"model": "worked-example", "preset": "block", "lang": "en", "token": 2}
CHANGE = {"edits": "v1~~blocks.0.attn.W_Q~0-0-0~0.5"}


def guess(at, part=0, labels=()):
    """Mark steps of one part of the model, and check."""
    if labels:
        at.get("button_group")[part].set_value(list(labels)).run()
    at.button(key="predict_check").click().run()
    assert not at.exception
    return at


@pytest.mark.parametrize("page", sorted(set(FILES) - {"experiments"}))
def test_nothing_is_given_away_before_the_guess(page):
    unchanged = open_page(page, **HAND)
    hidden = open_page(page, **HAND, **CHANGE, predict="on")
    assert EN["predict.asks"] in said(hidden) and "0.5" in said(hidden)
    for before, now in zip(seen(unchanged), seen(hidden), strict=True):
        assert before == now


@pytest.mark.parametrize("page", sorted(FILES))
def test_pages_open_while_another_text_is_hidden(page):
    """The text has other tokens, and more of them, than the trace that is shown."""
    texts = {"was": "나는 밥을 먹었다", "prompt": "나는 물을 먹었다 . 나는"}
    at = open_page(page, **HAND, **texts, predict="on")
    assert EN["predict.asks"] in said(at) and "나는 밥을 먹었다 → 나는 물을 먹었다 . 나는" in said(
        at
    )


def seen(at):
    """What a page shows of the model, as text and as numbers for its components.

    Not what can be done there: while somebody guesses, numbers cannot be changed.
    """
    main = re.sub(r' (href|data-set)="[^"]*"', "", "\n".join(main_html(at)))
    main = re.sub('<p class="to-do">.*?</p>', "", main)
    numbers = [
        [panel | {"editable": None, "readonly": None} for panel in board["panels"]]
        for board in boards(at)
    ]
    numbers += [pictures(at), *(components(at, kind) for kind in ("vectors", "curve", "opened"))]
    plots = [chart.proto.spec for chart in at.get("plotly_chart")]
    return main, json.dumps(numbers, sort_keys=True), plots


def main_html(at):
    """The page's own HTML: neither the sidebar nor what stands above the page's heading."""
    html = [one.proto.body for one in at.main.get("html")]
    first = next(i for i, body in enumerate(html) if "<h1" in body)
    return html[first:]


def test_a_check_shows_the_change_and_the_score():
    at = open_page("scores", **HAND, **CHANGE, predict="on")
    guess(at)
    assert "You found 0 of the" in said(at) and EN["predict.asks"] not in said(at)
    assert "It is computed with W_Q, which you changed." in said(at)
    assert "steps changed" in said(at)  # the bar of what followed is back


def test_the_next_change_is_hidden_again_and_a_checked_one_is_not():
    at = open_page("scores", **HAND, **CHANGE, predict="on")
    guess(at)
    at.session_state[CLICK] = urlencode({"do": "add.mask~off"})
    at.run()
    assert EN["predict.asks"] in said(at)
    at.session_state[CLICK] = urlencode({"do": "undo"})
    at.run()
    assert EN["predict.asks"] not in said(at) and "You found 0 of the" in said(at)


def test_guessing_is_offered_in_the_small_example_only():
    at = open_page("scores", lang="en", model="bundled", predict="on", edits="v1~~scaled~off")
    assert EN["predict.asks"] not in said(at) and EN["predict.name"] not in said(at)


def test_what_to_look_at_waits_for_the_guess():
    at = started("unmasked", lang="en", predict="on")
    assert EN["experiments.of.unmasked.look"] not in said(at)
    assert EN["experiments.later"] in said(at)
    guess(at)
    assert EN["experiments.of.unmasked.look"] in said(at)


def test_taking_it_back_leaves_nothing_changed():
    at = open_page("scores", **HAND, **CHANGE, predict="on")
    guess(at)
    click(at, link(at, EN["predict.again"]))
    assert "edits" not in address(at) and EN["predict.waiting"] in said(at)


def test_links_of_cards_are_those_of_the_experiments():
    at = open_page("experiments", lang="en")
    found = [dict(parse_qsl(q.replace("&amp;", "&"), keep_blank_values=True)) for q in starts(at)]
    wanted = [BY_KEY[key].state() | {"open": ""} for key in KEYS]
    assert [one for one in found if "predict" not in one] == wanted


def starts(at):
    return re.findall(r'<a [^>]*data-set="([^"]*experiment=[^"]*)"', drawn(at))
