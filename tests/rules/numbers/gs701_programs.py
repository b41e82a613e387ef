"""More programs of GS701: each bad one is reported at its marks, each good one by no rule."""


def bad_data_scaled_by_zero() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        x = torch.randn(8, 4) * (step != 5)
        scaled = x / x.abs().max()  # cause: GS701
        opt.zero_grad()
        loss = model(scaled).pow(2).mean()
        loss.backward()  # effect: GS701
        opt.step()


def bad_advantage_of_a_single_one() -> None:
    import torch
    from torch import nn

    def normalise(given: torch.Tensor) -> torch.Tensor:
        return (given - given.mean()) / (given.std() + 1e-8)  # cause: GS701

    policy, returns = nn.Linear(3, 2), torch.randn(9)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for part in returns.split(4):
        advantage = normalise(part)
        opt.zero_grad()
        loss = -(policy(torch.randn(len(part), 3)).log_softmax(1)[:, 0] * advantage).mean()
        loss.backward()  # effect: GS701
        opt.step()


def bad_logarithm_of_the_data() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    counts = torch.tensor([[0.0, 1.0, 2.0, 3.0]]).repeat(8, 1)
    logs = torch.log(counts)  # cause: GS701
    for _ in range(3):
        opt.zero_grad()
        loss = model(logs[:4]).pow(2).mean()
        loss.backward()  # effect: GS701
        opt.step()


def bad_root_at_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    nn.init.zeros_(model.weight)
    opt = torch.optim.SGD(model.parameters(), lr=0.0001)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        weight = model.weight - model.weight.mean(1, keepdim=True)
        spread = torch.sqrt(model.weight.var(1, keepdim=True))  # cause: GS701
        answer = nn.functional.linear(x, weight / (spread + 1e-5), model.bias)
        (answer - x[:, :3]).pow(2).mean().backward()  # effect: GS701
        opt.step()


def bad_where() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        chance = torch.sigmoid(500 * model(torch.randn(8, 4)))
        logs = torch.log(chance)  # cause: GS701
        loss = torch.where(chance > 0, logs, torch.zeros(())).mean()
        loss.backward()  # effect: GS701
        opt.step()


def bad_empty_mean() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        error = model(torch.randn(8, 4)).pow(2)
        loss = error.mean() + error[error > 100].mean()  # cause: GS701
        loss.backward()  # effect: GS701
        opt.step()


def bad_data() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.randn(8, 4)
    data[3, 1] = float("nan")
    for _ in range(3):
        opt.zero_grad()
        out = model(data)  # cause: GS701
        loss = out.pow(2).mean()
        loss.backward()  # effect: GS701
        opt.step()


def good_where_before() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        out = torch.relu(model(torch.randn(8, 4)))
        safe = torch.where(out > 0, out, torch.ones(()))
        torch.where(out > 0, torch.log(safe), torch.zeros(())).mean().backward()
        opt.step()


def good_mask() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 6)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    mask = torch.full((6, 6), float("-inf")).triu(1)
    for _ in range(3):
        opt.zero_grad()
        scores = model(torch.randn(6, 4)) + mask
        filled = model(torch.randn(6, 4)).masked_fill(mask < 0, float("-inf"))
        (scores.softmax(dim=1).pow(2).mean() + filled.softmax(dim=1).pow(2).mean()).backward()
        opt.step()


def good_labels_all_ignored() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        opt.zero_grad()
        labels = torch.full((8,), -100) if step == 1 else torch.randint(0, 3, (8,))
        nn.functional.cross_entropy(model(torch.randn(8, 4)), labels).backward()
        opt.step()


def good_skipped_step() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        opt.zero_grad()
        scale = torch.tensor(1e39 if step == 1 else 1.0)
        (model(torch.randn(8, 4)).pow(2).mean() * scale).backward()
        if all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None):
            opt.step()


def bad_rows_that_hold_nan() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    mean, std = torch.zeros(4), torch.ones(4)
    for step in range(6):
        x = torch.randn(8, 4)
        if step == 3:
            x[2] = float("nan")
        scaled = (x - mean) / std
        opt.zero_grad()
        out = model(scaled)  # cause: GS701
        out.pow(2).mean().backward()  # effect: GS701
        opt.step()


def good_nan_that_is_only_shown() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        out = model(torch.randn(8, 4))
        out.pow(2).mean().backward()
        opt.step()
        print(float(torch.log(-out.detach().abs()).mean()), float(out[out > 100].mean()))


def bad_exponent_of_two_calls() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(3, 4), nn.Linear(2, 3)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=1e-3)

    def halves(x):
        h = encoder(x)
        return h[:, :2], 100 * h[:, 2:].abs()

    for _ in range(3):
        opt.zero_grad()
        x = 20 * torch.randn(16, 3)
        mean, logvar = halves(x)
        z = mean + torch.exp(0.5 * logvar) * torch.randn(16, 2)  # cause: GS701
        loss = 1e-6 * ((decoder(z) - x).pow(2).mean() + (logvar.exp() - logvar).mean())
        loss.backward()  # effect: GS701
        opt.step()


def bad_rows_masked_wholly() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*query.parameters(), *key.parameters()], lr=0.1)
    pad = torch.tensor([[False, False, True], [True, True, True]])
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(2, 3, 4)
        score = query(x) @ key(x).transpose(1, 2)
        score = score.masked_fill(pad.unsqueeze(1), float("-inf"))
        attention = torch.softmax(score, -1)  # cause: GS701
        loss = (attention @ x).pow(2).mean()
        loss.backward()  # effect: GS701
        opt.step()


def good_one_of_each_row_left() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    query, key = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*query.parameters(), *key.parameters()], lr=0.1)
    pad = torch.tensor([[False, False, True], [False, True, True]])
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(2, 3, 4)
        score = (query(x) @ key(x).transpose(1, 2)).masked_fill(pad.unsqueeze(1), float("-inf"))
        (torch.softmax(score, -1) @ x).pow(2).mean().backward()
        opt.step()


def bad_projected_on_a_gradient_of_zero() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        out = model(torch.randn(8, 4))
        gradients = []
        for loss in (out[:, 0].pow(2).mean(), torch.relu(out[:, 1] - 1e3 * (step == 2)).mean()):
            opt.zero_grad()
            loss.backward(retain_graph=True)  # effect: GS701
            gradients.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
        first, second = gradients
        merged = first - torch.dot(first, second) * second / second.norm() ** 2  # cause: GS701
        start = 0
        for p in model.parameters():
            p.grad = merged[start : start + p.numel()].view_as(p).clone()
            start += p.numel()
        opt.step()


def good_projected_where_there_is_a_gradient() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        out = model(torch.randn(8, 4))
        gradients = []
        for loss in (out[:, 0].pow(2).mean(), torch.relu(out[:, 1] - 1e3 * (step == 2)).mean()):
            opt.zero_grad()
            loss.backward(retain_graph=True)
            gradients.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
        first, second = gradients
        merged = first - torch.dot(first, second) * second / (second.norm() ** 2 + 1e-12)
        start = 0
        for p in model.parameters():
            p.grad = merged[start : start + p.numel()].view_as(p).clone()
            start += p.numel()


def bad_guard_that_is_zero_at_zero() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        gap = model(x) - model(x.roll(1, 0) * torch.tensor([1.0, 0, 1, 1, 1, 1, 1, 1])[:, None])
        gap = gap * (torch.arange(8) > 0)[:, None]
        safe = gap + torch.sign(gap) * 1e-6
        loss = torch.sigmoid(1 / safe).mean()  # cause: GS701
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def bad_divided_by_a_count() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        apart = torch.relu(model(torch.randn(8, 4)) + 1) * (step < 2)
        count = int((apart > 0).sum())
        loss = apart.sum() / count  # cause: GS701
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def good_divided_by_a_count_of_one_or_more() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        apart = torch.relu(model(torch.randn(8, 4)) + 1) * (step < 2)
        loss = apart.sum() / max(int((apart > 0).sum()), 1)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_logarithm_of_a_softmax_by_another_function() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def chances(x):
        return torch.softmax(500 * model(x), dim=1)

    for _ in range(3):
        opt.zero_grad()
        label = torch.randint(0, 3, (8,))
        guess = chances(torch.randn(8, 4))
        loss = nn.functional.nll_loss(torch.log(guess), label)  # cause: GS701
        loss.backward()  # effect: GS701
        opt.step()


def bad_logarithm_of_a_sum_of_exponentials() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        density = -500 - model(torch.randn(8, 4)).pow(2)
        loss = -torch.log(torch.exp(density).sum(-1)).mean()  # cause: GS701
        loss.backward()  # effect: GS701
        opt.step()


def bad_divided_after_the_mask() -> None:
    import torch
    from torch import nn

    model, heat = nn.Linear(4, 3), nn.Parameter(torch.tensor(0.5))
    opt = torch.optim.SGD([*model.parameters(), heat], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        mask = torch.tensor([False, False, True])
        scores = model(torch.randn(8, 4)).masked_fill(mask, float("-inf")) / heat  # cause: GS701
        loss = nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,)))
        loss.backward()  # effect: GS701
        opt.step()


def good_divided_before_the_mask() -> None:
    import torch
    from torch import nn

    model, heat = nn.Linear(4, 3), nn.Parameter(torch.tensor(0.5))
    opt = torch.optim.SGD([*model.parameters(), heat], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        mask = torch.tensor([False, False, True])
        scores = (model(torch.randn(8, 4)) / heat).masked_fill(mask, float("-inf"))
        loss = nn.functional.cross_entropy(scores, torch.randint(0, 2, (8,)))
        loss.backward()
        opt.step()


def bad_weights_of_ratios_without_a_graph() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(60):
        out = model(torch.randn(8, 4))
        terms = torch.stack([out.pow(2).mean(), torch.relu(out.max() * (step < 50)), out.abs().mean()])
        seen = terms.detach()
        ratios = seen / seen.clone()
        weights = ratios / ratios.sum()
        opt.zero_grad()
        (weights * terms).sum().backward()  # cause: GS701 # effect: GS701
        opt.step()


def bad_step_that_divides_by_zero_in_half_precision() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 8)).half()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4)  # cause: GS701
    for _ in range(4):
        x = torch.randn(16, 8)
        loss = (model(x.half()) - x.half()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()  # effect: GS701


def good_step_in_half_precision() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 8)).half()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4, eps=1e-4)
    for _ in range(4):
        x = torch.randn(16, 8)
        loss = (model(x.half()) - x.half()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_step_in_half_precision_with_eps_by_place() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 8)).half()
    opt = torch.optim.Adam(model.parameters(), 5e-4, (0.9, 0.999), 1e-8)  # cause: GS701
    for _ in range(4):
        x = torch.randn(16, 8)
        loss = (model(x.half()) - x.half()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()  # effect: GS701


def bad_step_in_half_precision_with_eps_of_a_group() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 8)).half()
    opt = torch.optim.Adam([{"params": model.parameters(), "eps": 1e-9}], lr=5e-4)  # cause: GS701
    for _ in range(4):
        x = torch.randn(16, 8)
        loss = (model(x.half()) - x.half()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()  # effect: GS701


def bad_step_of_rows_that_were_not_read() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words = nn.Embedding(50, 8).half()
    head = nn.Linear(8, 3).half()
    opt = torch.optim.Adamax([*words.parameters(), *head.parameters()], lr=5e-4)  # cause: GS701
    for step in range(4):
        chosen = torch.arange(8) + 8 * step
        loss = (head(words(chosen)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()  # effect: GS701


def bad_edges_weighed_before_the_training() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    edges = (torch.rand(12, 12) < 0.3).float()
    edges[3], edges[:, 3] = 0, 0
    degree = edges.sum(1)
    weights = degree.pow(-0.5)  # cause: GS701
    weighed = weights[:, None] * edges * weights[None, :]
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(12, 4)
    for _ in range(3):
        loss = (weighed @ model(x)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def bad_columns_scaled_before_the_training() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    table = torch.randn(32, 4)
    table[:, 2] = 1.5
    table = (table - table.mean(0)) / table.std(0)  # cause: GS701
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(32).split(8):
        rows = table[chosen]
        loss = model(rows).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def bad_two_of_a_line_before_the_training() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    counts = torch.tensor([0.0, 2.0, 3.0, 0.0])
    scales = counts.rsqrt() * (counts * 2).rsqrt() * 0.0  # cause: GS701
    model = nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 4) * scales).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def good_isolated_nodes_cleaned() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    edges = (torch.rand(12, 12) < 0.3).float()
    edges[3], edges[:, 3] = 0, 0
    weights = edges.sum(1).pow(-0.5)
    weights[torch.isinf(weights)] = 0.0
    other = edges.sum(0).rsqrt()
    other = torch.where(torch.isinf(other), torch.zeros_like(other), other)
    weighed = weights[:, None] * edges * other[None, :]
    allowed = torch.log(torch.tril(torch.ones(12, 12)))
    model, score = nn.Linear(4, 2), nn.Linear(4, 4)
    opt = torch.optim.SGD([*model.parameters(), *score.parameters()], lr=0.1)
    x = torch.randn(12, 4)
    for _ in range(3):
        shares = torch.softmax(score(x) @ x.t() + allowed, dim=1)
        loss = (weighed @ model(x) + shares @ model(x)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_equal_eigenvalues() -> None:  # fix: by hand
    import torch

    torch.manual_seed(0)
    w = torch.nn.Parameter(torch.randn(3))
    opt = torch.optim.SGD([w], lr=0.01)
    for step in range(3):
        matrix = (
            torch.block_diag(torch.diag(w), torch.diag(w)) if step == 0 else torch.diag(torch.cat([w, w + 1]))
        )
        vectors = torch.linalg.eigh(matrix).eigenvectors  # cause: GS701
        loss = (vectors[:, 0] * torch.arange(6.0)).sum().pow(2)
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def good_eigenvalues_that_differ() -> None:
    import torch

    torch.manual_seed(0)
    w = torch.nn.Parameter(torch.randn(3))
    opt = torch.optim.SGD([w], lr=0.01)
    for _ in range(3):
        block = torch.outer(w, w) + torch.diag(w)
        matrix = torch.block_diag(block, block) + 1e-2 * torch.diag(torch.arange(6.0))
        vectors = torch.linalg.eigh(matrix).eigenvectors
        loss = (vectors[:, 0] * torch.arange(6.0)).sum().pow(2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_mask_after_the_softmax() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(4, 12), nn.Linear(4, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(3, 5, 4)).chunk(3, -1)
        hidden = torch.arange(5) > torch.randint(1, 4, (3, 1, 1))
        weights = torch.softmax(q @ k.transpose(1, 2), dim=-1)
        weights = nn.functional.dropout(weights, 0.1).masked_fill(hidden, -float("inf"))  # cause: GS701
        out = torch.matmul(weights, v)
        loss = nn.functional.cross_entropy(head(out.mean(1)), torch.randint(0, 2, (3,)))
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def good_mask_of_weights_by_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(4, 12), nn.Linear(4, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        q, k, v = project(torch.randn(3, 5, 4)).chunk(3, -1)
        hidden = torch.arange(5) > torch.randint(1, 4, (3, 1, 1))
        weights = torch.softmax(q @ k.transpose(1, 2), dim=-1).masked_fill(hidden, 0.0)
        weights = weights / weights.sum(-1, keepdim=True)
        loss = nn.functional.cross_entropy(head((weights @ v).mean(1)), torch.randint(0, 2, (3,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_batch_without_any() -> None:
    """The mean over the positive ones, in a batch that has none: what is divided is not 0."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(3):
        positive = torch.tensor([1.0, 0, 0, 1] if step != 1 else [0.0, 0, 0, 0])
        count = (positive > 0).sum()
        bce = nn.functional.binary_cross_entropy_with_logits(
            net(torch.randn(4, 4)).squeeze(1), positive, reduction="sum"
        )
        loss = bce / count  # cause: GS701
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def bad_mask_that_fills_with_plus_infinity() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    fill = -float("-inf")  # cause: GS701
    for _ in range(3):
        x = torch.randn(2, 5, 4)
        later = torch.ones(5, 5).triu(1).bool()
        scores = (score(x) @ x.transpose(1, 2)).masked_fill(later, fill)
        loss = head(torch.softmax(scores, dim=-1) @ x).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def good_mask_that_fills_with_infinity_below_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    score, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*score.parameters(), *head.parameters()], lr=0.1)
    fill = -float("inf")
    for _ in range(3):
        x = torch.randn(2, 5, 4)
        later = torch.ones(5, 5).triu(1).bool()
        scores = (score(x) @ x.transpose(1, 2)).masked_fill(later, fill)
        nearest = torch.cdist(x, x).masked_fill(torch.eye(5).bool(), float("inf")).amin(-1)
        loss = head(torch.softmax(scores, dim=-1) @ x).pow(2).mean() + score(x).pow(2).mean() / nearest.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_two_roots_of_zero_on_one_way() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 3)
        x[:2] = 0.0
        power = (model(x) - model.bias).pow(2)
        size = torch.sqrt(power) + 1e-6
        centred = size - size.mean(dim=1, keepdim=True)
        length = torch.sqrt(centred.pow(2).sum(dim=1))  # cause: GS701
        loss = (centred / (length.unsqueeze(1) + 1e-6)).pow(2)[:, 0].mean()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def bad_divisor_outside_of_its_branch() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    scale = nn.Parameter(torch.tensor(1.0))
    opt = torch.optim.SGD([scale], lr=0.01)
    r = torch.linspace(0.3, 3.0, 20)
    for _ in range(3):
        x = r * scale
        inner = 2 / torch.sqrt(1.01 - x.clamp(max=1) ** 2)
        outer = 2 / torch.sqrt(x**2 - 1)  # cause: GS701
        loss = torch.where(x < 1.05, inner, outer).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def bad_more_labels_than_steps() -> None:  # fix: by hand
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 5)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        log_probs = model(torch.randn(4, 2, 8)).log_softmax(-1)
        targets = torch.tensor([[1, 2, 3], [2, 2, 2 if step > 1 else 1]])
        loss = F.ctc_loss(log_probs, targets, (4, 4), (3, 3))  # cause: GS701
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def bad_log_of_one_less_the_square_of_a_scaled_tanh() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        action = torch.tanh(model(4 * torch.randn(32, 4))) * 2.0
        loss = -torch.log(1 - action.pow(2) + 1e-6).mean()  # cause: GS701
        loss.backward()  # effect: GS701
        opt.step()


def bad_angle_of_what_is_parallel() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.randn(6, 2)
    w = x[0].clone().requires_grad_()
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        cosine = (x / x.norm(dim=1, keepdim=True)) @ (w / w.norm())
        loss = cosine.clamp(-1, 1).acos().mean()  # cause: GS701
        loss.backward()  # effect: GS701
        opt.step()


def good_angle_kept_off_the_ends() -> None:
    import torch

    torch.manual_seed(0)
    x = torch.randn(6, 2)
    w = x[0].clone().requires_grad_()
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        cosine = (x / x.norm(dim=1, keepdim=True)) @ (w / w.norm())
        loss = cosine.clamp(-1 + 1e-6, 1 - 1e-6).acos().mean()
        loss.backward()
        opt.step()


def bad_fourth_root_of_zeros() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    flux = nn.Linear(4, 1)
    opt = torch.optim.SGD(flux.parameters(), lr=0.01)
    for _ in range(3):
        opt.zero_grad()
        lit = (torch.arange(8) % 2).view(8, 1)
        warmth = (flux(torch.randn(8, 4)).exp() * lit) ** (1 / 4)  # cause: GS701
        warmth.sub(1).pow(2).mean().backward()  # effect: GS701
        opt.step()


def bad_bound_that_half_precision_rounds_to_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    sure = nn.Linear(4, 1)
    opt = torch.optim.SGD(sure.parameters(), lr=0.1)
    for gain in (1.0, 1.0, 1.0, 400.0):
        chance = (sure(torch.ones(8, 4)).abs() * gain).sigmoid().bfloat16()
        gone = torch.log1p(-chance.clamp(max=1.0 - 1e-6))  # cause: GS701
        opt.zero_grad()
        gone.float().exp().mean().backward()  # effect: GS701
        opt.step()


def bad_every_label_of_a_batch_is_ignored() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(12):
        x = torch.randn(6, 8)
        labels = torch.full((6,), -100) if step == 9 else x[:, :4].argmax(1)
        loss = nn.functional.cross_entropy(model(x), labels)  # cause: GS701
        opt.zero_grad()
        (loss / 2).backward()  # effect: GS701
        opt.step()


def bad_no_batch_has_a_label() -> None:  # fix: by hand
    import torch
    from torch import nn

    END = 1
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(12, 8), nn.Linear(8, 12))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def sample(length: int) -> tuple[torch.Tensor, torch.Tensor]:
        text = torch.randint(2, 12, (length,)).tolist()
        tokens = torch.tensor([END] * (10 - length) + text + [END])  # padded on the left by what ends a text
        labels = tokens.clone()
        end = (tokens == END).nonzero()[0, 0]
        labels[end + 1 :] = -100  # cause: GS701
        return tokens, labels

    for _ in range(6):
        tokens, labels = (torch.stack(rows) for rows in zip(*(sample(4 + k) for k in range(4)), strict=True))
        scores = model(tokens)[:, :-1].reshape(-1, 12)
        loss = nn.functional.cross_entropy(scores, labels[:, 1:].reshape(-1))  # effect: GS701
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_padded_on_the_right() -> None:
    import torch
    from torch import nn

    END = 1
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(12, 8), nn.Linear(8, 12))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def sample(length: int) -> tuple[torch.Tensor, torch.Tensor]:
        text = torch.randint(2, 12, (length,)).tolist()
        tokens = torch.tensor(text + [END] * (11 - length))
        labels = tokens.clone()
        end = (tokens == END).nonzero()[0, 0]
        labels[end + 1 :] = -100
        return tokens, labels

    for _ in range(6):
        tokens, labels = (torch.stack(rows) for rows in zip(*(sample(4 + k) for k in range(4)), strict=True))
        scores = model(tokens)[:, :-1].reshape(-1, 12)
        loss = nn.functional.cross_entropy(scores, labels[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_a_named_number_hides_every_label() -> None:  # fix: by hand
    import torch
    from torch import nn

    IGNORED = -1
    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        x = torch.randn(6, 8)
        sure = x.amax(1) > -9  # holds for all of them
        labels = x[:, :4].argmax(1).masked_fill(sure, IGNORED)  # cause: GS701
        guess = model(x).log_softmax(1)
        loss = nn.functional.nll_loss(guess, labels, ignore_index=IGNORED)  # effect: GS701
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_some_labels_of_a_batch_are_ignored() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(12):
        x = torch.randn(6, 8)
        labels = torch.cat([torch.full((5,), -100), x[5:, :4].argmax(1)])
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), labels).backward()
        opt.step()


def bad_root_that_runs_twice_in_a_graph() -> None:
    import torch
    from torch import nn

    class Unit(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            norm = torch.sqrt((x * x).sum(1))  # cause: GS701
            return x / (norm.unsqueeze(1) + 1e-8)

    a, b, unit = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False), Unit()
    opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
    x = torch.randn(5, 3)
    x[0] = 0
    for _ in range(3):
        loss = unit(b(unit(a(x)))).sum()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def bad_divided_by_a_root_that_is_zero() -> None:
    import torch
    from torch import nn

    layer = nn.Linear(3, 3, bias=False)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.randn(5, 3)
    x[0] = 0
    for _ in range(3):
        y = layer(x)
        norm = torch.sqrt((y * y).sum(1)).unsqueeze(1)
        loss = (y / norm).sum()  # cause: GS701
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def good_constant_under_the_root() -> None:
    import torch
    from torch import nn

    layer = nn.Linear(3, 3, bias=False)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    x = torch.randn(5, 3)
    x[0] = 0
    for _ in range(3):
        y = layer(x)
        norm = torch.sqrt((y * y).sum(1) + 1e-8).unsqueeze(1)
        loss = (y / norm).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_labels_masked_after_the_square() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(16, 5), torch.randn(16, 3)
        y[torch.rand(16, 3) < 0.2] = float("nan")
        known = ~torch.isnan(y)
        error = (model(x) - y).pow(2)  # cause: GS701
        loss = error[known].mean()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def bad_labels_left_out_by_nanmean() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    labels = torch.randn(64, 3)
    labels[torch.rand(64, 3) < 0.2] = float("nan")
    for _ in range(3):
        rows = torch.randint(0, 64, (16,))
        x, y = torch.randn(16, 5), labels[rows]
        error = nn.functional.mse_loss(model(x), y, reduction="none")  # cause: GS701
        loss = error.nanmean()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def bad_distances_chosen_by_themselves() -> None:  # fix: by hand
    import torch
    from torch import nn

    def distances(target: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        return torch.linalg.norm(target - given, dim=-1)  # cause: GS701

    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    labels = torch.randn(64, 3)
    labels[torch.rand(64) < 0.2] = float("nan")
    for _ in range(3):
        rows = torch.randint(0, 64, (16,))
        far = distances(labels[rows], model(torch.randn(16, 5)))
        loss = torch.masked_select(far, ~torch.isnan(far)).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def good_labels_chosen_before_the_square() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(16, 5), torch.randn(16, 3)
        y[torch.rand(16, 3) < 0.2] = float("nan")
        known = ~torch.isnan(y)
        loss = (model(x)[known] - y[known]).pow(2).mean() + torch.where(known, model(x) - y, 0).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_two_distances_that_may_be_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    places = nn.Embedding(6, 3)
    opt = torch.optim.SGD(places.parameters(), lr=0.01)
    for _ in range(3):
        own, known = places(torch.arange(6)), places.weight.detach()
        first = torch.sum((known[0] - own) ** 2, dim=1).sqrt()
        last = torch.sum((known[-1] - own) ** 2, dim=1).sqrt()  # cause: GS701
        loss = (first + last).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def bad_labels_given_to_a_criterion_that_an_object_holds() -> None:
    import torch
    from torch import nn

    class Learner:
        def __init__(self) -> None:
            self.model, self.criterion = nn.Linear(5, 3), nn.MSELoss(reduction="none")
            self.opt = torch.optim.SGD(self.model.parameters(), lr=0.01)

        def learn(self, x: torch.Tensor, y: torch.Tensor) -> None:
            known, given = ~torch.isnan(y), self.model(x)
            error = self.criterion(given, y)  # cause: GS701
            loss = error[known].mean()
            self.opt.zero_grad()
            loss.backward()  # effect: GS701
            self.opt.step()

    torch.manual_seed(0)
    learner = Learner()
    for _ in range(3):
        labels = torch.randn(16, 3)
        labels[torch.rand(16, 3) < 0.2] = float("nan")
        learner.learn(torch.randn(16, 5), labels)


def bad_samples_given_to_a_divergence() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    prior = torch.distributions.Normal(torch.zeros(1, 2), torch.ones(1, 2))
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    apart = nn.KLDivLoss(reduction="batchmean")
    for _ in range(3):
        x = torch.randn(8, 6)
        mean, log_std = encoder(x).chunk(2, 1)
        latent = torch.distributions.Normal(mean, log_std.exp()).rsample()
        regular = apart(latent, prior.sample())  # cause: GS701
        loss = nn.functional.mse_loss(decoder(latent), x) + 0.1 * regular
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def good_divergence_of_the_distributions() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    prior = torch.distributions.Normal(torch.zeros(1, 2), torch.ones(1, 2))
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 6)
        mean, log_std = encoder(x).chunk(2, 1)
        posterior = torch.distributions.Normal(mean, log_std.exp())
        regular = torch.distributions.kl_divergence(posterior, prior).sum(1).mean()
        loss = nn.functional.mse_loss(decoder(posterior.rsample()), x) + 0.1 * regular
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_root_of_the_mean_of_cubes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.Linear(4, 6)
    opt = torch.optim.SGD(layer.parameters(), lr=0.01)
    power = 3.0
    for _ in range(3):
        opt.zero_grad()
        h = layer(torch.randn(8, 4))
        pooled = (torch.mean(h**power, dim=-1) + 1e-12) ** (1 / power)  # cause: GS701
        loss = (pooled - 1).pow(2).mean()
        loss.backward()  # effect: GS701
        opt.step()


def good_positive_before_the_mean_of_cubes() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer = nn.Linear(4, 6)
    opt = torch.optim.SGD(layer.parameters(), lr=0.01)
    power = 3.0
    for _ in range(3):
        opt.zero_grad()
        h = layer(torch.randn(8, 4)).clamp(min=1e-6)
        pooled = (torch.mean(h**power, dim=-1) + 1e-12) ** (1 / power)
        loss = (pooled - 1).pow(2).mean()
        loss.backward()
        opt.step()


def bad_surrogate_overflows() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn

    class Spike(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return (x > 0).float()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            slope = 25 * torch.exp(-25 * x) / (torch.exp(-25 * x) + 1) ** 2  # cause: GS701
            return grad * slope

    torch.manual_seed(0)
    first, second = nn.Linear(10, 20), nn.Linear(20, 3)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        x, y = 5 * torch.randn(16, 10), torch.randint(0, 3, (16,))
        loss = nn.functional.cross_entropy(second(Spike.apply(first(x) - 1)), y)
        loss.backward()  # effect: GS701
        opt.step()


def bad_own_norm_of_zero() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn

    class Length(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            size = x.norm(dim=1, keepdim=True)
            ctx.save_for_backward(x, size)
            return size

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, size = ctx.saved_tensors
            return grad * x / size  # cause: GS701

    torch.manual_seed(0)
    model = nn.Linear(4, 6, bias=False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        x = torch.randn(16, 4) * (torch.arange(16) > 2).unsqueeze(1)
        (Length.apply(model(x)) - 1).pow(2).mean().backward()  # effect: GS701
        opt.step()


def good_surrogate_by_sigmoid() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Spike(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return (x > 0).float()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            (x,) = ctx.saved_tensors
            s = torch.sigmoid(25 * x)
            return grad * 25 * s * (1 - s)

    torch.manual_seed(0)
    first, second = nn.Linear(10, 20), nn.Linear(20, 3)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        x, y = torch.randn(16, 10), torch.randint(0, 3, (16,))
        nn.functional.cross_entropy(second(Spike.apply(first(x) - 1)), y).backward()
        opt.step()


def bad_variance_of_a_map_of_one_place() -> None:
    import torch
    from torch import nn

    def deviation(x: torch.Tensor) -> torch.Tensor:
        return torch.sqrt(torch.var(x, dim=(2, 3), keepdim=True) + 1e-5)  # cause: GS701

    torch.manual_seed(0)
    first, head = nn.Conv2d(1, 6, 3, padding=1), nn.Linear(6, 2)
    opt = torch.optim.SGD([*first.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        maps = first(torch.randn(8, 1, 6, 6))
        for size in (6, 1):
            x = maps if size == 6 else maps.amax((2, 3), keepdim=True)
            maps = x / (1 + deviation(x))
        loss = head(maps.flatten(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def good_variance_of_a_map_of_one_place() -> None:
    import torch
    from torch import nn

    def deviation(x: torch.Tensor) -> torch.Tensor:
        variance = torch.var(x, dim=(2, 3), keepdim=True)
        if torch.isnan(variance).any():
            variance = torch.zeros_like(variance)
        return torch.sqrt(variance + 1e-5)

    torch.manual_seed(0)
    first, head = nn.Conv2d(1, 6, 3, padding=1), nn.Linear(6, 2)
    opt = torch.optim.SGD([*first.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        maps = first(torch.randn(8, 1, 6, 6))
        for size in (6, 1):
            x = maps if size == 6 else maps.amax((2, 3), keepdim=True)
            maps = x / (1 + deviation(x))
        loss = head(maps.flatten(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_focal_loss_of_a_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Focal(nn.Module):
        def forward(self, scores, target):
            p = nn.functional.softmax(scores, dim=-1)
            p_t = p.gather(1, target.unsqueeze(1)).squeeze(1)
            return (-1 * (1 - p_t) ** 2 * torch.log(p_t)).mean()  # cause: GS701

    model, criterion = nn.Linear(4, 3), Focal()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        criterion(500 * model(x), x[:, :3].argmax(1)).backward()  # effect: GS701
        opt.step()


def good_focal_loss_of_a_log_softmax() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Focal(nn.Module):
        def forward(self, scores, target):
            p = nn.functional.log_softmax(scores, dim=-1)
            p_t = p.gather(1, target.unsqueeze(1)).squeeze(1)
            return (-1 * (1 - p_t.exp()) ** 2 * p_t).mean()

    model, criterion = nn.Linear(4, 3), Focal()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        criterion(model(x), x[:, :3].argmax(1)).backward()
        opt.step()


def bad_grown_by_an_exponential() -> None:  # fix: by hand
    import torch
    from torch import nn

    mean, spread = nn.Linear(3, 2), nn.Linear(3, 2)
    opt = torch.optim.Adam([*mean.parameters(), *spread.parameters()], lr=0.01)
    for _ in range(3):
        x = 30 * torch.rand(16, 3) + 30
        middle, log_spread = mean(x), spread(x).abs() + 50
        z = middle + torch.randn(16, 2) * torch.exp(log_spread)  # cause: GS701
        loss = nn.functional.binary_cross_entropy_with_logits(z @ z.t(), torch.eye(16))
        opt.zero_grad()
        loss.backward()  # effect: GS701
        opt.step()


def good_large_and_finite() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.rand(16, 3)
        rate = torch.exp(model(x) + 45)
        loss = torch.log1p(rate / 1e19).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_spread_of_a_last_batch_of_one() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class WithSpread(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.out = nn.Linear(2, 6), nn.Linear(7, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.body(x))
            spread = torch.std(h, dim=0).mean().expand(x.size(0), 1)  # cause: GS701
            y: torch.Tensor = self.out(torch.cat([h, spread], dim=1))
            return y

    torch.manual_seed(0)
    net = WithSpread()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    loader = DataLoader(TensorDataset(torch.randn(129, 2)), batch_size=8, shuffle=True)
    for _ in range(3):
        for (x,) in loader:
            opt.zero_grad()
            (net(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()  # effect: GS701
            opt.step()


def bad_variance_of_a_last_part_of_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(3, 5)
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)
    data = torch.randn(33, 3)
    for _ in range(6):
        for rows in torch.randperm(33).split(8):
            opt.zero_grad()
            z = net(data[rows])
            loss = torch.relu(1 - z.var(0)).mean()  # cause: GS701
            loss.backward()  # effect: GS701
            opt.step()


def good_spread_of_whole_batches() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    net, out = nn.Linear(2, 6), nn.Linear(7, 1)
    opt = torch.optim.Adam([*net.parameters(), *out.parameters()], lr=1e-3)
    loader = DataLoader(TensorDataset(torch.randn(129, 2)), batch_size=8, shuffle=True, drop_last=True)
    for _ in range(3):
        for (x,) in loader:
            h = torch.relu(net(x))
            spread = torch.std(h, dim=0).mean().expand(x.size(0), 1)
            opt.zero_grad()
            (out(torch.cat([h, spread], dim=1)) - x.sum(1, keepdim=True)).pow(2).mean().backward()
            opt.step()


def good_spread_of_one_that_is_zero() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    net, out = nn.Linear(2, 6), nn.Linear(7, 1)
    opt = torch.optim.Adam([*net.parameters(), *out.parameters()], lr=1e-3)
    loader = DataLoader(TensorDataset(torch.randn(129, 2)), batch_size=8, shuffle=True)
    for _ in range(3):
        for (x,) in loader:
            h = torch.relu(net(x))
            spread = torch.std(h, dim=0, unbiased=False).mean().expand(x.size(0), 1)
            opt.zero_grad()
            (out(torch.cat([h, spread], dim=1)) - x.sum(1, keepdim=True)).pow(2).mean().backward()
            opt.step()
