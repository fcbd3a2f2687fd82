"""What people see: pictures, texts, the state of the view and the frame that every page draws.

The only part of the project that knows Streamlit, and only in `state`, `engine`, `frame` and
`texts`; the modules that build pictures and HTML are plain functions from values to strings.
"""
