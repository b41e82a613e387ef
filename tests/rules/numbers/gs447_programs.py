"""More programs of GS447: each bad one is reported at its marks, each good one by no rule."""


def bad_two_surest_classes_of_a_method() -> None:
    import torch
    from torch import nn

    class Species(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 6))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.layers(x)
            return out

        @torch.no_grad()
        def suggest(self, x: torch.Tensor, count: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
            log_chance = self(x).log_softmax(0)  # cause: GS447
            values, kinds = log_chance.topk(count, dim=-1)  # effect: GS447
            return values.exp(), kinds

    torch.manual_seed(0)
    x = torch.randn(120, 5)
    y = (x @ torch.randn(5, 6)).argmax(1)
    net = Species()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        loss = nn.functional.cross_entropy(net(x[:80]), y[:80])
        opt.zero_grad()
        loss.backward()
        opt.step()
        values, kinds = net.suggest(x[80:])
        print((kinds == y[80:, None]).any(1).float().mean().item(), values[:, 0].mean().item())


def bad_sorted_scores_of_a_product() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x[:, :3].argmax(1)
    weight, bias = nn.Parameter(torch.randn(4, 3) * 0.1), nn.Parameter(torch.zeros(3))
    opt = torch.optim.SGD([weight, bias], lr=0.5)
    for _ in range(3):
        loss = nn.functional.cross_entropy(x @ weight + bias, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        chances = torch.softmax((x @ weight + bias) / 2, 0)  # cause: GS447
        best = chances.argsort(descending=True)[:, 0]  # effect: GS447
        print((best == y).float().mean().item())


def good_surest_samples_of_each_class() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    y = x[:, :3].argmax(1)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        chances = model(x).softmax(1)
        values, rows = chances.topk(5, dim=0)
        print(
            values.mean().item(),
            (y[rows] == torch.arange(3)).float().mean().item(),
            chances.argmax(0).tolist(),
        )


def good_experts_choose_their_samples() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, experts = nn.Linear(6, 3), nn.ModuleList(nn.Linear(6, 6) for _ in range(3))
    opt = torch.optim.Adam([*gate.parameters(), *experts.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(24, 6)
        share, rows = gate(x).softmax(-1).topk(12, dim=0)
        out = torch.zeros(24, 6)
        for number, expert in enumerate(experts):
            out = out.index_add(0, rows[:, number], share[:, number, None] * expert(x[rows[:, number]]))
        loss = (out - x.flip(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_each_query_against_all_others() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, two = nn.Linear(6, 8), nn.Linear(6, 8)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 6)
        scores = one(x) @ two(x).t()
        loss = nn.functional.cross_entropy(scores, torch.arange(16))
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        inverted = (one(x) @ two(x).t()).softmax(0)  # a match that many queries share counts less
        print((inverted.argmax(1) == torch.arange(16)).float().mean().item())


def bad_a_softmax_over_a_batch_of_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(40, 4)
    y = x[:, :3].argmax(1)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    hits = 0
    with torch.no_grad():
        for row, label in zip(x, y, strict=True):
            chances = nn.functional.softmax(model(row.unsqueeze(0)), dim=0)  # cause: GS447
            hits += int(chances.argmax().item() == label)  # effect: GS447
    print(hits / len(x))


def bad_a_layer_over_the_one_image_of_a_segmentation() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 5, 3, padding=1)
            self.chances = nn.LogSoftmax(dim=0)  # cause: GS447

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.conv(x)
            return scores

        @torch.no_grad()
        def label(self, image: torch.Tensor) -> torch.Tensor:
            chances = self.chances(self(image[None]))
            return chances.max(dim=1)[1][0]  # effect: GS447

    torch.manual_seed(0)
    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    images, labels = torch.randn(6, 3, 8, 8), torch.randint(0, 5, (6, 8, 8))
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(images), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(sum(float((model.label(i) == m).float().mean()) for i, m in zip(images, labels, strict=True)))


def good_one_sample_at_a_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(40, 4)
    y = x[:, :3].argmax(1)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    hits = 0
    with torch.no_grad():
        for row, label in zip(x, y, strict=True):
            chances = nn.functional.softmax(model(row), dim=0)
            hits += int(chances.argmax().item() == label)
    print(hits / len(x))


def good_most_looked_at_word_of_sentences_of_any_length() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(6, 2), nn.Linear(12, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for length in (4, 6, 3):
        words = torch.randn(length, 6)
        weights = torch.softmax(score(words), dim=0)
        loss = nn.functional.cross_entropy(head((weights.t() @ words).view(1, 12)), torch.tensor([1]))
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        for length in (1, 5, 1):
            weights = torch.softmax(score(torch.randn(length, 6)), dim=0)
            print(weights.argmax(dim=0).tolist(), weights.max().item())


def good_pooled_over_the_instances() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, attend, score = (
        nn.Sequential(nn.Linear(5, 16), nn.Tanh()),
        nn.Linear(16, 3),
        nn.Parameter(torch.randn(3, 16) / 4),
    )
    opt = torch.optim.Adam([*body.parameters(), *attend.parameters(), score], lr=0.01)
    bags = torch.randn(96, 7, 5)
    labels = torch.randint(3, (96,))
    bags[torch.arange(96), torch.randint(7, (96,)), labels] += 4
    for epoch in range(8):
        for i in torch.randperm(64).tolist():
            h = body(bags[i])
            share = torch.softmax(
                attend(h), dim=0
            )  # instances, classes: each class divides itself among the instances
            scores = ((share.t() @ h) * score).sum(1)
            loss = nn.functional.cross_entropy(scores.unsqueeze(0), labels[i : i + 1])
            opt.zero_grad()
            loss.backward()
            opt.step()
    right = 0
    with torch.no_grad():
        for i in range(64, 96):
            h = body(bags[i])
            share = torch.softmax(attend(h), dim=0)
            right += int(((share.t() @ h) * score).sum(1).argmax() == labels[i])
            looked_at_by = share.max(
                dim=1
            )  # for the picture: of each instance, the class that gives it most of its attention
    print(right / 32, looked_at_by.indices.tolist())
