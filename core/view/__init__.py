"""What people see: pictures, texts, the state of the view and the frame that every page draws.

The only part of the project that knows Streamlit and plotly. Most modules are plain functions from
values to HTML; docs/architecture.md says what each is for.
"""
