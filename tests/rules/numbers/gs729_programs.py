"""More programs of GS729: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_filled_scores() -> None:
    import torch
    from torch import nn

    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.score, self.head = nn.Embedding(30, 12), nn.Linear(12, 12), nn.Linear(12, 2)

        def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            x = self.words(tokens)
            scores = self.score(x) @ x.transpose(1, 2) / 12**0.5
            scores = scores.masked_fill(mask[:, None, :] == 0, -1e9)  # cause: GS729
            pooled: torch.Tensor = self.head((scores.softmax(-1) @ x)[:, 0])
            return pooled

    torch.manual_seed(1)
    model = Pooled()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        rows = [torch.randint(2, 30, (int(n),)) for n in torch.randint(3, 9, (12,))]
        tokens = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=1)
        mask = torch.ones_like(tokens)
        loss = nn.functional.cross_entropy(model(tokens, mask), (tokens[:, 0] > 15).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rows_of_one_length() -> None:
    import torch
    from torch import nn

    torch.manual_seed(2)
    words, head = nn.Embedding(12, 8), nn.Linear(8, 2)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    opt = torch.optim.Adam([*words.parameters(), *attention.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        tokens = torch.randint(1, 12, (16, 6))
        x = words(tokens)
        y, _ = attention(x, x, x, key_padding_mask=tokens == 0)
        loss = nn.functional.cross_entropy(head(y[:, 0]), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_some_batches_without_padding() -> None:
    import torch
    from torch import nn

    torch.manual_seed(3)
    words, head = nn.Embedding(12, 8), nn.Linear(8, 2)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    opt = torch.optim.Adam([*words.parameters(), *attention.parameters(), *head.parameters()], lr=0.01)
    for step in range(8):
        lengths = torch.full((16, 1), 6) if step % 2 else torch.randint(2, 7, (16, 1))
        tokens = torch.randint(1, 12, (16, 6)) * (torch.arange(6) < lengths)
        x = words(tokens)
        y, _ = attention(x, x, x, key_padding_mask=tokens == 0)
        loss = nn.functional.cross_entropy(head(y[:, 0]), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_sentences_that_end_with_a_token() -> None:
    import torch
    from torch import nn

    torch.manual_seed(4)
    words, head = nn.Embedding(12, 8), nn.Linear(8, 2)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    opt = torch.optim.Adam([*words.parameters(), *attention.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        tokens = torch.cat([torch.randint(1, 12, (16, 5)), torch.zeros(16, 1, dtype=torch.long)], dim=1)
        x = words(tokens)
        y, _ = attention(x, x, x, key_padding_mask=torch.zeros(16, 6, dtype=torch.bool))
        loss = nn.functional.cross_entropy(head(y[:, 0]), (tokens[:, 0] > 5).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_compared_with_another_number() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pad_sequence

    torch.manual_seed(0)
    words, qkv, head = nn.Embedding(30, 8), nn.Linear(8, 24), nn.Linear(8, 1)
    opt = torch.optim.Adam([*words.parameters(), *qkv.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        reviews = [torch.randint(1, 30, (int(n),)) for n in torch.randint(3, 10, (12,))]
        ids = pad_sequence(reviews, batch_first=True)
        padded = ids.eq(-100)  # cause: GS729
        q, k, v = qkv(words(ids)).chunk(3, dim=-1)
        scores = torch.einsum("bid,bjd->bij", q, k).masked_fill(padded[:, None, :], -1e9)  # effect: GS729
        mixed = torch.einsum("bij,bjd->bid", scores.softmax(-1), v)
        loss = (head(mixed[:, 0]) - (ids[:, :1] > 20).float()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
