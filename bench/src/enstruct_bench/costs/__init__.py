"""What everything costs: each module measures one thing, ``summary`` makes one table of their files."""
