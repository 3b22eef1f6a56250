"""Inputs that go on: whatever comes to the entry points, as many as there is time for; `make fuzz SECONDS=600`."""
