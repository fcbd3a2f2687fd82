"""The parameters of a run, and the links that are made of them."""

from streamlit.testing.v1 import AppTest


def _links():
    import streamlit as st

    from core.view.state import State

    state = State()
    state.index("token", 9, 0)
    st.text(state.address(layer=2))
    state.put("token", 3)
    st.text(state.address(layer=2))
    state.text("word", "")
    st.text(state.address(token=5))
    state.text("prompt", "a" * 300)
    state.put("prompt", "b" * 300)
    st.text(state.address(token=5))


def test_links_follow_every_change_within_a_run():
    at = AppTest.from_function(_links)
    at.query_params["word"] = "x y"
    at.run()
    assert not at.exception
    first, put, declared, long = (text.value for text in at.text)
    assert first == "?layer=2"
    assert put == "?token=3&layer=2"
    assert declared == "?token=5&word=x+y"
    assert long == "?token=5"  # the page's script fills in the rest


def _declared_again():
    import streamlit as st

    from core.view.state import State

    class Counted(State):
        built = 0

        def query(self, **changes):
            self.built += 1
            return super().query(**changes)

    state = Counted()
    for _ in range(3):
        state.text("word", "a")
        state.address()
    st.text(str(state.built))
    st.session_state["word"] = "b"
    state.text("word", "a")
    st.text(state.address())


def test_links_are_built_anew_only_where_a_parameter_changed():
    at = AppTest.from_function(_declared_again).run()
    at.run()  # the first one takes all from the address
    assert not at.exception
    assert [text.value for text in at.text] == ["1", "?word=b"]
