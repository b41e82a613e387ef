"""More programs of GS746: each bad one is reported at its marks, each good one by no rule."""


def bad_criterion_of_flattened_targets() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8, padding_idx=8), nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.SGD([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(0, 8, (6, 7)).masked_fill(torch.arange(7) > 3, 8)
        scores = head(rnn(embedding(words[:, :-1]))[0])
        loss = criterion(scores.reshape(-1, 9), words[:, 1:].reshape(-1))  # cause: GS746
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_by_the_program() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(1, 9, (6, 5)).masked_fill(torch.arange(5) > 2, 0)
        scores, right = head(embedding(words[:, :-1])), words[:, 1:]
        each = nn.functional.cross_entropy(scores.transpose(1, 2), right, reduction="none")
        loss = (each * (right != 0)).sum() / (right != 0).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_cut_out_before_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(1, 9, (6, 5)).masked_fill(torch.arange(5) > 2, 0)
        right = words[:, 1:]
        scores = head(embedding(words[:, :-1]))[right != 0]
        loss = nn.functional.cross_entropy(scores, right[right != 0])
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_classes_of_another_kind() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 3)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(1, 9, (6, 5))
        loss = nn.functional.cross_entropy(head(embedding(words).mean(1)), torch.arange(6) % 3)
        opt.zero_grad()
        loss.backward()
        opt.step()
