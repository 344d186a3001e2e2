"""Campaigns that every release passes: malformed input, kills, races, long use."""
