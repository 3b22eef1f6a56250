"""What a rule is and what it finds: the mechanism under the rules, and how a finding is worded."""
