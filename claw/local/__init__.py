"""A model file of the user's own, served by llama.cpp for as long as claw runs."""
