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
    assert set(data["words"]["verdicts"]) == set(embedding_plane.VERDICTS)
    assert "{x}" in data["words"]["value"] and "{name}" in data["words"]["vector"]
