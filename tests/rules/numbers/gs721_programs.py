"""More programs of GS721: each bad one is reported at its marks, each good one by no rule."""


def bad_filled_where_words_are() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, project, head = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 8), nn.Linear(8, 2)
    score = nn.Linear(8, 1)
    parts = nn.ModuleList([words, project, head, score])
    opt = torch.optim.Adam(parts.parameters(), lr=0.01)
    tokens, y = torch.randint(1, 20, (16, 6)), torch.randint(0, 2, (16,))
    tokens[:, 4:] = 0
    for _ in range(6):
        x = project(words(tokens))  # effect: GS721
        scores = score(x).squeeze(-1).masked_fill(tokens != 0, -1e9)  # cause: GS721
        pooled = (torch.softmax(scores, 1).unsqueeze(-1) * x).sum(1)
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled), y).backward()
        opt.step()


def good_filled_where_padding_is() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, project, head = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 8), nn.Linear(8, 2)
    score = nn.Linear(8, 1)
    parts = nn.ModuleList([words, project, head, score])
    opt = torch.optim.Adam(parts.parameters(), lr=0.01)
    tokens, y = torch.randint(1, 20, (16, 6)), torch.randint(0, 2, (16,))
    tokens[:, 4:] = 0
    for _ in range(6):
        x = project(words(tokens))
        scores = score(x).squeeze(-1).masked_fill(tokens == 0, -1e9)
        pooled = (torch.softmax(scores, 1).unsqueeze(-1) * x).sum(1)
        opt.zero_grad()
        nn.functional.cross_entropy(head(pooled), y).backward()
        opt.step()


def good_segment_that_most_batches_lack() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, segments = nn.Embedding(20, 8, padding_idx=0), nn.Embedding(3, 8, padding_idx=0)
    head = nn.Linear(8, 2)
    opt = torch.optim.SGD([*words.parameters(), *segments.parameters(), *head.parameters()], lr=0.1)
    tokens, y = torch.randint(1, 20, (16, 6)), torch.randint(0, 2, (16,))
    tokens[:, 4:] = 0
    for step in range(12):
        kind = torch.ones_like(tokens) * (step < 2)
        x = (words(tokens) + segments(kind)).masked_fill((tokens == 0).unsqueeze(-1), 0.0)
        opt.zero_grad()
        nn.functional.cross_entropy(head(x.sum(1)), y).backward()
        opt.step()


def good_segment_that_all_lack() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, segments = nn.Embedding(20, 8, padding_idx=0), nn.Embedding(3, 8, padding_idx=0)
    project, head = nn.Linear(8, 8), nn.Linear(8, 2)
    parts = nn.ModuleList([words, segments, project, head])
    opt = torch.optim.SGD(parts.parameters(), lr=0.1)
    tokens, y = torch.randint(1, 20, (16, 6)), torch.randint(0, 2, (16,))
    tokens[:, 4:] = 0
    for _ in range(8):
        x = project(words(tokens) + segments(torch.zeros_like(tokens)))
        x = x.masked_fill((tokens == 0).unsqueeze(-1), 0.0)
        opt.zero_grad()
        nn.functional.cross_entropy(head(x.sum(1)), y).backward()
        opt.step()
