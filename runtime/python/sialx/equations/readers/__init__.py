"""Equations from what generators of many-body equations write."""
