"""GS1xx: memory that is shared behind autograd's back."""
