"""Scripts that make assets or measure speed; the app needs none of them."""
