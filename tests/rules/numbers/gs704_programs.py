"""More programs of GS704: each bad one is reported at its marks, each good one by no rule."""


def bad_softmax() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        chance = torch.softmax(model(torch.randn(8, 4)), dim=1)  # cause: GS704
        loss = (chance.squeeze(1) - torch.rand(8)).pow(2).mean()
        loss.backward()  # effect: GS704
        opt.step()


def bad_weights_of_a_pool() -> None:
    import torch
    from torch import nn

    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        frames = torch.randn(8, 5, 4)
        weights = torch.softmax(score(frames) / 2, dim=-1)  # cause: GS704
        logits = head((weights * frames).sum(dim=1))
        nn.functional.cross_entropy(logits, torch.zeros(8, dtype=torch.long)).backward()  # effect: GS704
        opt.step()


def bad_weights_of_a_pool_in_a_module() -> None:
    import torch
    from torch import nn

    class Pool(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.score = nn.Sequential(nn.Linear(width, 8), nn.Tanh(), nn.Linear(8, 1))
            self.normalise = nn.Softmax(dim=-1)  # cause: GS704

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            weights = self.normalise(self.score(x))
            return torch.einsum("bto,btd->bd", weights, x)

    model = nn.Sequential(Pool(4), nn.Linear(4, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(torch.randn(6, 5, 4)), torch.randint(0, 2, (6,)))
        opt.zero_grad()
        loss.backward()  # effect: GS704
        opt.step()


def good_weights_along_the_frames() -> None:
    import torch
    from torch import nn

    score, head = nn.Linear(4, 1), nn.Linear(4, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        frames = torch.randn(8, 5, 4)
        logits = head((torch.softmax(score(frames), dim=1) * frames).sum(dim=1))
        nn.functional.cross_entropy(logits, torch.zeros(8, dtype=torch.long)).backward()
        opt.step()


def good_one_output() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(torch.randn(8, 4)), torch.rand(8, 1)).backward()
        opt.step()


def good_one_example() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        chances = model(torch.randn(1, 4)).softmax(dim=1)
        (chances - torch.tensor([[0.0, 1.0, 0.0]])).pow(2).mean().backward()
        opt.step()


def good_attention_to_one_position() -> None:
    import torch
    from torch import nn

    query, value, head = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*query.parameters(), *value.parameters(), *head.parameters()], lr=0.1)
    for step in range(4):
        opt.zero_grad()
        x = torch.randn(2, 1 + step, 4)  # grows as a sequence does
        weights = torch.softmax(query(x) @ x.transpose(1, 2), dim=2)
        head(weights @ value(x)).pow(2).mean().backward()
        opt.step()


def bad_weights_along_a_batch_of_one() -> None:  # fix: by hand
    import torch
    from torch import nn

    query, head, weigh = nn.Linear(4, 4, bias=False), nn.Linear(4, 2), nn.Softmax(dim=0)
    opt = torch.optim.SGD([*query.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        frames = torch.randn(1, 5, 4)
        weights = weigh((query(torch.randn(1, 1, 4)) @ frames.transpose(1, 2)).view(1, 5))  # cause: GS704
        logits = head((weights.unsqueeze(2) * frames).sum(dim=1))
        nn.functional.cross_entropy(logits, torch.zeros(1, dtype=torch.long)).backward()  # effect: GS704
        opt.step()


def good_instances_of_a_bag_along_the_first_axis() -> None:
    import torch
    from torch import nn

    score, head = nn.Linear(4, 3), nn.Linear(12, 2)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    for step in range(4):
        opt.zero_grad()
        bag = torch.randn(1 + step % 2, 4)  # some bags hold one instance
        weights = torch.softmax(torch.tanh(score(bag)), dim=0)
        logits = head((weights.t() @ bag).view(1, 12))
        nn.functional.cross_entropy(logits, torch.zeros(1, dtype=torch.long)).backward()
        opt.step()


def good_attention_with_a_batch_of_one() -> None:
    import torch
    from torch import nn

    query, head = nn.Linear(4, 4, bias=False), nn.Linear(4, 2)
    opt = torch.optim.SGD([*query.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        frames = torch.randn(1, 5, 4)
        weights = (query(torch.randn(1, 1, 4)) @ frames.transpose(1, 2)).view(1, 5).softmax(dim=-1)
        logits = head((weights.unsqueeze(2) * frames).sum(dim=1))
        nn.functional.cross_entropy(logits, torch.zeros(1, dtype=torch.long)).backward()
        opt.step()


def bad_gate_of_the_one_that_was_chosen() -> None:
    import torch
    from torch import nn

    class Mixture(nn.Module):
        def __init__(self, k: int) -> None:
            super().__init__()
            self.k, self.gate = k, nn.Linear(4, 3)
            self.experts = nn.ModuleList(nn.Linear(4, 2) for _ in range(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores = self.gate(x)
            top, chosen = scores.topk(self.k, dim=1)
            weights = torch.softmax(top, dim=1)  # cause: GS704
            every = torch.stack([expert(x) for expert in self.experts], 1)
            picked = every.gather(1, chosen[:, :, None].expand(-1, -1, 2))
            return (weights[:, :, None] * picked).sum(1)

    torch.manual_seed(0)
    model = Mixture(1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        loss = nn.functional.cross_entropy(model(torch.randn(24, 4)), torch.randint(0, 2, (24,)))
        opt.zero_grad()
        loss.backward()  # effect: GS704
        opt.step()


def bad_gate_of_the_first_of_several() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, experts = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 2) for _ in range(3))
    opt = torch.optim.SGD([*gate.parameters(), *experts.parameters()], lr=0.1)
    for _ in range(6):
        x = torch.randn(24, 4)
        top, chosen = gate(x).topk(2, dim=1)
        weights = nn.functional.softmax(top[:, :1], dim=1)  # cause: GS704
        every = torch.stack([expert(x) for expert in experts], 1)
        picked = every.gather(1, chosen[:, :1, None].expand(-1, -1, 2))
        loss = nn.functional.cross_entropy((weights[:, :, None] * picked).sum(1), torch.randint(0, 2, (24,)))
        opt.zero_grad()
        loss.backward()  # effect: GS704
        opt.step()


def good_gate_over_all_before_the_choice() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, experts = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 2) for _ in range(3))
    opt = torch.optim.SGD([*gate.parameters(), *experts.parameters()], lr=0.1)
    for _ in range(6):
        x = torch.randn(24, 4)
        weights, chosen = torch.softmax(gate(x), dim=1).topk(1, dim=1)
        every = torch.stack([expert(x) for expert in experts], 1)
        picked = every.gather(1, chosen[:, :, None].expand(-1, -1, 2))
        loss = nn.functional.cross_entropy((weights[:, :, None] * picked).sum(1), torch.randint(0, 2, (24,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_gate_that_a_balance_trains() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, experts = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 2) for _ in range(3))
    opt = torch.optim.SGD([*gate.parameters(), *experts.parameters()], lr=0.1)
    for _ in range(6):
        x = torch.randn(24, 4)
        scores = gate(x)
        top, chosen = scores.topk(1, dim=1)
        weights = torch.softmax(top, dim=1)
        every = torch.stack([expert(x) for expert in experts], 1)
        picked = every.gather(1, chosen[:, :, None].expand(-1, -1, 2))
        loss = nn.functional.cross_entropy((weights[:, :, None] * picked).sum(1), torch.randint(0, 2, (24,)))
        loss = loss + 0.1 * torch.softmax(scores, dim=1).mean(0).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_gate_of_two() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, experts = nn.Linear(4, 3), nn.ModuleList(nn.Linear(4, 2) for _ in range(3))
    opt = torch.optim.SGD([*gate.parameters(), *experts.parameters()], lr=0.1)
    for step in range(8):
        x = torch.randn(24, 4)
        top, chosen = gate(x).topk(1 + step % 2, dim=1)  # one or two of them in turn
        weights = torch.softmax(top, dim=1)
        every = torch.stack([expert(x) for expert in experts], 1)
        picked = every.gather(1, chosen[:, :, None].expand(-1, -1, 2))
        loss = nn.functional.cross_entropy((weights[:, :, None] * picked).sum(1), torch.randint(0, 2, (24,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_weights_of_places_along_an_axis_of_one() -> None:  # fix: by hand
    import torch
    from torch import nn

    features, scores, head = nn.Conv2d(3, 8, 1), nn.Conv2d(3, 4, 1), nn.Linear(8, 5)
    opt = torch.optim.SGD(
        [*features.parameters(), *scores.parameters(), *head.parameters()], lr=0.1, momentum=0.9
    )
    for _ in range(8):
        x, y = torch.randn(16, 3, 5, 5), torch.randint(0, 5, (16,))
        parts = features(x).view(16, 4, 2, 5, 5)
        weights = scores(x).view(16, 4, 1, 5, 5).softmax(2)  # cause: GS704
        pooled = (parts * weights).sum(dim=(3, 4)).flatten(1)
        loss = nn.functional.cross_entropy(head(pooled), y)
        opt.zero_grad()
        loss.backward()  # effect: GS704
        opt.step()


def good_weights_of_parts_at_each_place() -> None:
    import torch
    from torch import nn

    features, scores, head = nn.Conv2d(3, 8, 1), nn.Conv2d(3, 4, 1), nn.Linear(8, 5)
    opt = torch.optim.SGD(
        [*features.parameters(), *scores.parameters(), *head.parameters()], lr=0.1, momentum=0.9
    )
    for _ in range(8):
        x, y = torch.randn(16, 3, 5, 5), torch.randint(0, 5, (16,))
        parts = features(x).view(16, 4, 2, 5, 5)
        pooled = (parts * scores(x).view(16, 4, 1, 5, 5).softmax(1)).sum(dim=(3, 4)).flatten(1)
        loss = nn.functional.cross_entropy(head(pooled), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_written_out() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, out = nn.Sequential(nn.Linear(6, 8), nn.ReLU()), nn.Linear(8, 1)
    opt = torch.optim.AdamW([*body.parameters(), *out.parameters()], lr=0.01, weight_decay=0.0)
    for _ in range(4):
        rows = torch.randn(16, 6)
        z = out(body(rows))
        chance = torch.exp(z - torch.logsumexp(z, dim=-1, keepdim=True))  # cause: GS704
        opt.zero_grad()
        nn.functional.mse_loss(chance[:, 0], (rows[:, 0] > 0).float()).backward()  # effect: GS704
        opt.step()


def bad_quotient_written_out() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    out = nn.Linear(6, 1)
    opt = torch.optim.SGD(out.parameters(), lr=0.1)
    for _ in range(4):
        rows = torch.randn(16, 6)
        e = out(rows).exp()
        chance = e / e.sum(dim=1, keepdim=True)  # cause: GS704
        opt.zero_grad()
        (chance[:, 0] - (rows[:, 0] > 0).float()).square().mean().backward()  # effect: GS704
        opt.step()


def good_weights_written_out() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    ask, out = nn.Linear(6, 1), nn.Linear(6, 1)
    opt = torch.optim.SGD([*ask.parameters(), *out.parameters()], lr=0.1)
    for frames in (5, 1, 3, 1):
        rows = torch.randn(16, frames, 6)
        e = ask(rows).exp()
        pooled = (rows * (e / e.sum(dim=1, keepdim=True))).sum(1)
        opt.zero_grad()
        (torch.sigmoid(out(pooled)) - 0.5).square().mean().backward()
        opt.step()


def bad_attention_along_the_axis_of_one_query() -> None:
    import torch
    from torch import nn

    class Recall(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(6, 8)
            self.head = nn.Linear(8, 2)

        def split(self, x: torch.Tensor) -> torch.Tensor:
            return x.view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.split(self.query(x[:, :1])), self.split(self.key(x)), self.split(self.value(x))
            scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / 2
            weights = scores.softmax(dim=2)  # cause: GS704
            heard = torch.einsum("bhqk,bhkd->bhqd", weights, v)
            return self.head(heard.transpose(1, 2).reshape(x.shape[0], 8))

    model = Recall()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 5, 6)), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()  # effect: GS704
        opt.step()


def good_attention_of_one_query_along_the_keys() -> None:
    import torch
    from torch import nn

    query, key, value, head = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([p for one in (query, key, value, head) for p in one.parameters()], lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 5, 6)
        scores = query(x[:, :1]) @ key(x).transpose(1, 2) / 2
        heard = scores.softmax(dim=2) @ value(x)
        loss = nn.functional.cross_entropy(head(heard[:, 0]), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_single_slot_that_is_brought_to_one_along_the_places() -> None:
    import torch
    from torch import nn

    slots = nn.Parameter(torch.randn(1, 8))
    key, value, head = nn.Linear(6, 8), nn.Linear(6, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*key.parameters(), *value.parameters(), *head.parameters(), slots], lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 5, 6)
        share = (slots @ key(x).transpose(1, 2)).softmax(dim=1)
        share = share / share.sum(dim=2, keepdim=True)
        loss = nn.functional.cross_entropy(head((share @ value(x))[:, 0]), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_a_mixture_of_one_part_and_a_mean_over_the_places() -> None:
    import torch
    from torch import nn

    known, part, head = nn.Parameter(torch.randn(1, 6)), nn.Linear(6, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([known, *part.parameters(), *head.parameters()], lr=0.1)
    for _ in range(6):
        x = torch.randn(8, 5, 6)
        share = (x @ known.t()).softmax(dim=-1)
        parts = torch.stack([part(x)], dim=2)
        mixed = (share.unsqueeze(-1) * parts).sum(dim=2).mean(dim=1)
        loss = nn.functional.cross_entropy(head(mixed), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
