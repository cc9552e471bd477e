"""The demo: a scripted model behind a real HTTP server, and the small project it works on."""
