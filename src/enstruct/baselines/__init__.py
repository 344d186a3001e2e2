"""What users would pick instead, behind the same face."""
