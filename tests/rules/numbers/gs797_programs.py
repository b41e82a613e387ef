"""More programs of GS797: each bad one is reported at its marks, each good one by no rule."""


def bad_handed_to_a_function() -> None:
    import torch
    from torch import nn

    def padding_mask(lens, places):
        return (torch.arange(places).expand(len(lens), places) >= lens[:, None]).float()

    class Loss(nn.Module):
        def forward(self, made, wanted, lens):
            longest = wanted.shape[1]  # cause: GS797
            mask = 1 - padding_mask(lens, longest)[:, :, None]
            return (made * mask - wanted * mask).abs().sum() / mask.sum()  # effect: GS797

    torch.manual_seed(0)
    model, criterion = nn.Conv1d(2, 3, 3, padding=1), Loss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        lens = torch.randint(4, 10, (8,))
        x, y = torch.randn(8, 2, int(lens.max())), torch.randn(8, 3, int(lens.max()))
        loss = criterion(model(x), y, lens)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_over_the_heads_of_attention() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 3), nn.Linear(12, 1)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        lengths = torch.randint(4, 10, (8,))
        x = torch.randn(8, int(lengths.max()), 4)
        scores = score(x).transpose(1, 2)
        mask = torch.arange(scores.size(1))[None] >= lengths[:, None]  # cause: GS797
        weights = scores.masked_fill(mask.unsqueeze(-1), float("-inf")).softmax(-1)  # effect: GS797
        loss = (head((weights @ x).flatten(1)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_size_from_all_of_them() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv1d(2, 3, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        lengths = torch.randint(4, 10, (8,))
        y = torch.randn(8, 3, int(lengths.max()))
        _, places, _ = y.shape
        mask = torch.arange(places) < lengths.unsqueeze(1)  # cause: GS797
        error = model(torch.randn(8, 2, y.shape[2])) - y
        loss = (error * mask.unsqueeze(2)).pow(2).mean()  # effect: GS797
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_lengths_of_what_was_cut() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(2, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        lengths = torch.randint(10, 30, (8,))
        x = torch.randn(8, 30, 2)[:, :10]
        mask = torch.arange(x.size(1)) < lengths.unsqueeze(1)
        loss = ((model(x) - 1).pow(2) * mask.unsqueeze(2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_all_as_long() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv1d(2, 3, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        channels = torch.full((8,), 9)  # all of them, whatever the model has
        mask = torch.arange(3) < channels.unsqueeze(1)
        loss = ((model(torch.randn(8, 2, 9)) - 1).pow(2) * mask.unsqueeze(2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_cut_once_to_the_width() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(2, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for longest in (12, 6, 9, 8):
        lengths = torch.randint(5, longest, (8,))
        lengths[0] = longest
        x = torch.randn(8, longest, 2)[:, :5]
        mask = torch.arange(x.size(1)) < lengths.unsqueeze(1)
        loss = ((model(x) - 1).pow(2) * mask.unsqueeze(2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
