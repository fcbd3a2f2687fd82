"""What may stand in a link for two vectors, and what the plane is sent."""

import math

import pytest

from core.view import embedding_plane
from core.view.texts import speaker


@pytest.mark.parametrize(
    "places", ["8_6_-6_8", "-10_10_0_1", "0_1_1_0", *embedding_plane.PRESETS.values()]
)
def test_two_vectors_of_tenths_are_valid(places):
    assert embedding_plane.valid(places)


WRONG = [
    "",
    "8_6_4",
    "8_6_4_3_1",
    "11_0_1_1",
    "0_0_1_1",
    "1_1_0_0",
    "a_b_c_d",
    "8_6_4_3\n",
    "８_6_4_3",
]


@pytest.mark.parametrize("places", [None, 8, *WRONG])
def test_anything_else_is_not(places):
    assert not embedding_plane.valid(places)


@pytest.mark.parametrize(("name", "cosine"), [("same", 1), ("right", 0), ("opposite", -1)])
def test_presets_are_what_they_say(name, cosine):
    ax, ay, bx, by = map(int, embedding_plane.PRESETS[name].split("_"))
    cos = (ax * bx + ay * by) / (math.hypot(ax, ay) * math.hypot(bx, by))
    assert cos == pytest.approx(cosine, abs=1e-12)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_plane_is_sent_its_texts(language):
    data = embedding_plane.content(speaker(language), "8_6_4_3")
    assert data["at"] == "8_6_4_3"
    least = [one["least"] for one in data["words"]["verdicts"]]
    assert least == sorted(least, reverse=True) and least[0] == 1 and least[-1] == -1
    assert len({one["text"] for one in data["words"]["verdicts"]}) == len(least)
    assert "{x}" in data["words"]["value"] and "{name}" in data["words"]["vector"]


@pytest.mark.parametrize(
    ("degrees", "kind"),
    [
        (0, "same"),
        (1, "close"),
        (19, "close"),
        (21, "partly"),
        (45, "partly"),
        (59, "partly"),
        (61, "little"),
        (89.9, "little"),
        (90, "right"),
        (90.1, "against"),
        (159, "against"),
        (161, "apart"),
        (179, "apart"),
        (180, "opposite"),
    ],
)
def test_words_fit_the_angle(degrees, kind):
    """The browser takes the first verdict whose least cosine is reached."""
    cosine = round(math.cos(math.radians(degrees)), 9)
    kinds = sorted(embedding_plane.verdicts().items(), key=lambda one: -one[1])
    assert next(name for name, least in kinds if cosine >= least) == kind
