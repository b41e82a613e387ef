"""More programs of GS764: each bad one is reported at its marks, each good one by no rule."""


def bad_two_orders() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, labels = torch.randn(80, 6), torch.randint(3, (80,))
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def batch() -> tuple[torch.Tensor, torch.Tensor]:
        inputs = data[torch.randint(80, (16,))]  # cause: GS764
        targets = labels[torch.randint(80, (16,))]
        return inputs, targets

    for _ in range(5):
        x, y = batch()
        opt.zero_grad()
        loss = criterion(model(x), y)  # effect: GS764
        loss.backward()
        opt.step()


def good_permuted_pixels() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(64, 64), torch.randint(2, (64,))
    pixels = torch.randperm(64)
    model = nn.Linear(64, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for start in range(0, 64, 16):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x[:, pixels][start : start + 16]), y[start : start + 16])
        loss.backward()
        opt.step()


def good_mixup() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y = torch.randn(64, 4), torch.randint(2, (64,))
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        order = torch.randperm(64)
        scores = model(0.7 * x + 0.3 * x[order])
        loss = 0.7 * nn.functional.cross_entropy(scores, y) + 0.3 * nn.functional.cross_entropy(
            scores, y[order]
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_shuffled_negatives() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    encoder, judge = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.Adam([*encoder.parameters(), *judge.parameters()], lr=0.01)
    for _ in range(4):
        real = judge(torch.tanh(encoder(x)))
        mixed = judge(torch.tanh(encoder(x[torch.randperm(64)] * torch.rand(64, 1))))
        ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
        loss = nn.functional.binary_cross_entropy_with_logits(real, ones)
        loss = loss + nn.functional.binary_cross_entropy_with_logits(mixed, zeros)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_noise_that_is_predicted() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 4))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        clean = x[torch.randperm(64)]
        noise = torch.randn(64, 4)
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(0.6 * clean + 0.8 * noise), noise)
        loss.backward()
        opt.step()


def bad_two_draws_for_index_select() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    recipes = torch.randn(64, 4)
    strengths = torch.sin(recipes[:, 0]) + recipes[:, 1]
    model = nn.Sequential(nn.Linear(4, 1), nn.Flatten(0))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        one = torch.index_select(recipes, 0, torch.randperm(64))  # cause: GS764
        two = torch.index_select(strengths, 0, torch.randperm(64))
        for recipe, strength in zip(one.split(16), two.split(16), strict=True):
            opt.zero_grad()
            loss = nn.functional.huber_loss(model(recipe), strength)  # effect: GS764
            loss.backward()
            opt.step()


def good_rows_and_a_stretch_of_them() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words = (torch.randint(0, 12, (64, 1)) + torch.arange(6)) % 12
    embed, back = nn.Embedding(12, 16), nn.Linear(16, 12)
    opt = torch.optim.Adam([*embed.parameters(), *back.parameters()], lr=0.01)
    for _ in range(4):
        for rows in torch.randperm(64).split(16):
            scores = back(embed(words[rows])[:, :-1])
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), words[rows, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
