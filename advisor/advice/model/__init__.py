"""What an audit rests on and gives: sheets, the Case that rules see, findings, the checklist and the plan."""
