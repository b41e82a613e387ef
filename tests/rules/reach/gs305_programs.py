"""More programs of GS305: each bad one is reported at its marks, each good one by no rule."""


def bad_round() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        count = torch.round(model(torch.randn(8, 4)))  # cause: GS305
        loss = (count - 2).pow(2).mean()
        loss.backward()  # effect: GS305
        opt.step()


def bad_prediction_rounded_for_both() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())

    def score(x: torch.Tensor) -> torch.Tensor:
        return torch.round(5 * critic(x))  # cause: GS305

    for _ in range(3):
        opt_g.zero_grad()
        fake = generator(torch.randn(4, 2))
        score(fake).mean().neg().backward()  # effect: GS305
        opt_g.step()
        opt_c.zero_grad()
        (score(fake.detach()).mean() + critic(torch.randn(4, 2)).mean().neg()).backward()
        opt_c.step()


def good_forces_of_a_learned_energy() -> None:
    import torch
    from torch import nn

    energy = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))  # its last bias has no force
    opt = torch.optim.SGD(energy.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 2, requires_grad=True)
        (slope,) = torch.autograd.grad(energy(x).sum(), x, create_graph=True)
        opt.zero_grad()
        (slope + x.detach()).pow(2).mean().backward()
        opt.step()
    at = torch.ones(1, 2)
    for _ in range(3):
        at = at.detach().requires_grad_()
        (slope,) = torch.autograd.grad(energy(at).sum(), at)
        at = at - 0.1 * slope


def good_metric_and_mask() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    target = torch.randint(0, 3, (8,))
    for _ in range(3):
        opt.zero_grad()
        scores = model(torch.randn(8, 4))
        wrong = scores.argmax(dim=1) != target
        loss = (nn.functional.cross_entropy(scores, target, reduction="none") * (1 + wrong.float())).mean()
        loss.backward()
        opt.step()
        _ = (scores.argmax(dim=1) == target).float().mean().item()


def bad_asked_to_require() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        found = model(torch.randn(8, 4)).max(1)[1]  # cause: GS305
        loss = (found != 0).float().mean()
        loss.requires_grad = True  # effect: GS305
        loss.backward()
        opt.step()


def bad_random_draw() -> None:  # fix: by hand
    import torch
    from torch import nn

    encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        x = torch.randn(8, 4)
        code = torch.normal(encoder(x), 0.1)  # cause: GS305
        nn.functional.mse_loss(decoder(code), x).backward()  # effect: GS305
        opt.step()


def bad_term_of_a_threshold() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores, target = model(torch.randn(8, 4)), torch.ones(8, 1)
        found = (scores > 0).float()  # cause: GS305
        dice = 1 - 2 * (found * target).sum() / (found.sum() + target.sum())
        loss = nn.functional.binary_cross_entropy_with_logits(scores, target) + dice
        loss.backward()  # effect: GS305
        opt.step()


def bad_term_of_a_count() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        share, target = torch.sigmoid(model(torch.randn(8, 4))), torch.ones(8, 1)
        count = share.round().sum()  # cause: GS305
        loss = nn.functional.binary_cross_entropy(share, target)
        loss = loss + 0.1 * (count - 8).abs()
        loss.backward()  # effect: GS305
        opt.step()


def good_hinge_with_its_cost() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores = model(torch.randn(1, 4))[0]
        guess = scores.argmax()
        loss = (guess != 1).float() + scores[guess] - scores[1]
        loss.backward()
        opt.step()


def good_uniform_prior() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal, Uniform

    guide = nn.Linear(1, 2)
    opt = torch.optim.Adam(guide.parameters(), lr=0.01)
    for _ in range(3):
        mean, spread = guide(torch.ones(1, 1)).unbind(dim=1)
        posterior = Normal(mean, spread.exp())
        scale = posterior.rsample().sigmoid()
        likelihood = Normal(0.0, scale).log_prob(torch.randn(8)).sum()
        prior = Uniform(0.0, 1.0).log_prob(scale).sum()
        opt.zero_grad()
        (-(likelihood + prior)).backward()
        opt.step()


def good_straight_through_number() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        soft = torch.sigmoid(model(torch.randn(8, 4))).mean()
        hard = (soft > 0.5).float()
        loss = hard + soft - soft.detach()
        loss.backward()
        opt.step()


def bad_threshold_made_a_leaf() -> None:  # fix: by hand
    import torch
    from torch import nn

    def overlap(pr, gt):
        pr = torch.tensor((pr > 0.5).type(pr.dtype), requires_grad=True)  # cause: GS305
        return 2 * (gt * pr).sum() / (gt.sum() + pr.sum() + 1e-6)

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = 1 - overlap(model(torch.randn(8, 4)).sigmoid(), torch.ones(8, 3))
        loss.backward()  # effect: GS305
        opt.step()


def good_overlap_of_what_is_soft() -> None:
    import torch
    from torch import nn

    def overlap(pr, gt):
        pr = torch.sigmoid(4 * (pr - 0.5))
        return 2 * (gt * pr).sum() / (gt.sum() + pr.sum() + 1e-6)

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (1 - overlap(model(torch.randn(8, 4)).sigmoid(), torch.ones(8, 3))).backward()
        opt.step()


def bad_penalty_beside_the_loss() -> None:
    import torch
    from torch import nn

    critic = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3, requires_grad=True)
        out = critic(x)
        (slope,) = torch.autograd.grad(out.sum(), x, retain_graph=True)  # cause: GS305
        loss = out.mean() + (slope.norm(dim=1) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS305
        opt.step()


def good_penalty_with_a_graph() -> None:
    import torch
    from torch import nn

    critic = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3, requires_grad=True)
        out = critic(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        opt.zero_grad()
        (out.mean() + (slope.norm(dim=1) - 1).pow(2).mean()).backward()
        opt.step()


def good_first_order_inner_step() -> None:
    import torch
    from torch import nn

    weight, target = torch.randn(3, 1, requires_grad=True), torch.randn(3, 1)
    opt = torch.optim.SGD([weight], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 3)
        inner = nn.functional.mse_loss(x @ weight, x @ target)
        (slope,) = torch.autograd.grad(inner, weight)
        opt.zero_grad()
        nn.functional.mse_loss(x @ (weight - 0.1 * slope), x @ target).backward()
        opt.step()


def bad_mask_that_picks() -> None:
    import torch

    threshold, scale = torch.tensor(1.0, requires_grad=True), torch.ones(3, requires_grad=True)
    opt = torch.optim.SGD([threshold, scale], lr=0.1)
    for _ in range(4):
        norms = (torch.randn(32, 3) * scale).norm(dim=1)
        mask = norms < threshold  # cause: GS305
        loss = (norms[mask].mean() - 0.5) ** 2
        opt.zero_grad()
        loss.backward()  # effect: GS305
        opt.step()


def bad_mask_that_chooses() -> None:  # fix: by hand
    import torch

    threshold, scale = torch.tensor(0.2, requires_grad=True), torch.ones(3, requires_grad=True)
    opt = torch.optim.SGD([threshold, scale], lr=0.1)
    for _ in range(4):
        x = torch.randn(32, 3) * scale
        loss = torch.where(x > threshold, x, 0.1 * x).mean()  # cause: GS305
        opt.zero_grad()
        loss.backward()  # effect: GS305
        opt.step()


def bad_edges_of_the_class_map() -> None:  # fix: by hand
    import torch
    from torch import nn

    net = nn.Conv2d(3, 2, 3, padding=1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        image, label = torch.rand(4, 3, 8, 8), torch.randint(0, 2, (4, 8, 8))
        chance = net(image).softmax(1)
        inside = chance.argmax(1).float()  # cause: GS305
        edges = (inside[:, 1:] - inside[:, :-1]).pow(2).mean()
        loss = nn.functional.nll_loss((chance + 1e-6).log(), label) + edges
        opt.zero_grad()
        loss.backward()  # effect: GS305
        opt.step()


def bad_slope_without_its_graph() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    x = torch.randn(16, 2)
    y, slope = x.sin().sum(1, keepdim=True), x.cos()
    x.requires_grad_(True)
    for _ in range(3):
        out = net(x)
        (given,) = torch.autograd.grad(out.sum(), x, retain_graph=True)  # cause: GS305
        loss = (out - y).pow(2).mean() + 0.5 * (given - slope).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS305
        opt.step()


def good_penalty_keeps_its_graph_and_a_weight_does_not() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 2, requires_grad=True)
        out = net(x)
        (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        fit, penalty = (out - 1).pow(2).mean(), (slope.norm(dim=1) - 1).pow(2).mean()
        last = net[2].weight
        one = torch.autograd.grad(fit, last, retain_graph=True)[0].norm()
        other = torch.autograd.grad(penalty, last, retain_graph=True)[0].norm()
        weight = (one / (other + 1e-4)).clamp(0, 100).detach()
        opt.zero_grad()
        (fit + weight * penalty).backward()
        opt.step()


def good_physics_informed() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for step in range(4):
        t = torch.rand(16, 1, requires_grad=True)
        u = net(t)
        (velocity,) = torch.autograd.grad(u.sum(), t, create_graph=True)
        (force,) = torch.autograd.grad(velocity.sum(), t, create_graph=True)
        start = net(torch.zeros(1, 1)) - 1
        loss = (force + u).pow(2).mean() + start.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 2 == 1:
            u = net(t)
            (velocity,) = torch.autograd.grad(u.sum(), t)
            print(round(float((velocity.detach().numpy() ** 2).mean() + loss.item()) * 0))


def good_attack_with_first_order_gradients() -> None:
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4, requires_grad=True), torch.randint(0, 3, (16,))
        clean = nn.functional.cross_entropy(net(x), y)
        (slope,) = torch.autograd.grad(clean, x, retain_graph=True)
        attacked = nn.functional.cross_entropy(net(x.detach() + 0.1 * slope.sign()), y)
        loss = clean + 0.5 * attacked
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_penalty_of_a_critic() -> None:
    import torch
    from torch import nn

    made, critic = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt_critic = torch.optim.Adam(critic.parameters(), lr=0.01)
    opt_made = torch.optim.Adam(made.parameters(), lr=0.01)
    for _ in range(3):
        real, fake = torch.randn(8, 4), made(torch.randn(8, 3))
        share = torch.rand(8, 1)
        between = (share * real + (1 - share) * fake.detach()).requires_grad_(True)
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        loss = critic(fake.detach()).mean() - critic(real).mean() + 10 * (slope.norm(dim=1) - 1).pow(2).mean()
        opt_critic.zero_grad()
        loss.backward()
        opt_critic.step()
        opt_made.zero_grad()
        (-critic(fake).mean() + fake.pow(2).mean()).backward()
        opt_made.step()


def bad_compared_and_printed() -> None:  # fix: by hand
    import torch

    rows = torch.arange(16.0)
    target = (rows < 9).float()
    edge = torch.tensor([5.0, 1.0], requires_grad=True)
    weight = torch.ones(16, requires_grad=True)
    opt = torch.optim.SGD([edge], lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        mask = torch.where(rows * edge[1] < edge[0], torch.tensor(1.0), torch.tensor(0.0))  # cause: GS305
        loss = (mask * weight - target).pow(2).mean()
        loss.backward()  # effect: GS305
        opt.step()
        weight.grad = None
        print(edge[0].item(), edge[1].item())


def bad_median_of_the_weights_in_the_loss() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    field = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.SGD(field.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        places = torch.linspace(1, 4, 12).repeat(8, 1)
        density, color = field(places.unsqueeze(-1)).unbind(-1)
        weights = torch.softmax(density, dim=-1)
        running = torch.cumsum(weights, dim=-1)
        index = torch.searchsorted(running, torch.full((8, 1), 0.5)).clamp(max=11)  # cause: GS305
        depth = torch.gather(places, 1, index).squeeze(1)
        loss = ((weights * color).sum(-1) - 0.5).pow(2).mean() + 0.1 * (depth - 2).abs().mean()
        loss.backward()  # effect: GS305
        opt.step()


def good_mean_of_the_weights_in_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    field = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.SGD(field.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        places = torch.linspace(1, 4, 12).repeat(8, 1)
        density, color = field(places.unsqueeze(-1)).unbind(-1)
        weights = torch.softmax(density, dim=-1)
        depth = (weights * places).sum(-1) / weights.sum(-1)
        loss = ((weights * color).sum(-1) - 0.5).pow(2).mean() + 0.1 * (depth - 2).abs().mean()
        loss.backward()
        opt.step()


def bad_bounds_of_a_part() -> None:  # fix: by hand
    import torch

    torch.manual_seed(0)
    target = torch.ones(32)
    target[18:26] = 0.2
    centre, level = torch.tensor(14.0, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    opt = torch.optim.Adam([centre, level], lr=0.1)
    for _ in range(5):
        row = torch.ones(32)
        low = (centre - 4).int()  # cause: GS305
        high = (centre + 4).int()
        row[low:high] = level
        loss = (row - target).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS305
        opt.step()


def good_bounds_beside_their_own_loss() -> None:
    """The part is only looked at, where the bounds learn from a loss of their own."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    bounds, head = nn.Linear(16, 2), nn.Linear(1, 1)
    opt = torch.optim.SGD([*bounds.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        row = torch.randn(16)
        places = bounds(row)
        low = places[0].clamp(0, 7).int()
        high = places[1].clamp(8, 16).int()
        taken = head(row[low:high].unsqueeze(1)).mean()
        loss = (places - torch.tensor([4.0, 12.0])).pow(2).mean() + (taken - 1).pow(2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_bounds_that_are_data() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 8)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        x, n = torch.randn(4, 8), torch.randint(3, 8, ())
        opt.zero_grad()
        model(x)[:, :n].pow(2).mean().backward()
        opt.step()


def bad_division_that_rounds() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Codec(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.squeeze, self.expand, self.width = nn.Linear(6, 3), nn.Linear(3, 6), 0.25

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            codes = torch.div(self.squeeze(x), self.width, rounding_mode="floor")  # cause: GS305
            return self.expand(codes * self.width)

    codec = Codec()
    opt = torch.optim.SGD(codec.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 6)
        opt.zero_grad()
        (codec(x) - x).pow(2).mean().backward()  # effect: GS305
        opt.step()


def good_division_that_rounds_nothing() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Codec(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.squeeze, self.expand, self.width = nn.Linear(6, 3), nn.Linear(3, 6), 0.25

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            codes = torch.div(self.squeeze(x), self.width, rounding_mode=None)
            codes = codes + (codes.detach().div(1, rounding_mode="floor") - codes.detach())
            return self.expand(codes * self.width)

    codec = Codec()
    opt = torch.optim.SGD(codec.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 6)
        opt.zero_grad()
        (codec(x) - x).pow(2).mean().backward()
        opt.step()


def bad_place_that_is_learned() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    delay, gain = nn.Parameter(torch.tensor(4.0)), nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([delay, gain], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 32).cumsum(1)
        places = (torch.arange(16) + delay).long().clamp(0, 31)  # cause: GS305
        opt.zero_grad()
        (gain * x[:, places] - x[:, 9:25]).pow(2).mean().backward()  # effect: GS305
        opt.step()


def good_place_that_is_learned_by_its_neighbours() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    delay, gain = nn.Parameter(torch.tensor(4.0)), nn.Parameter(torch.ones(1))
    opt = torch.optim.SGD([delay, gain], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 32).cumsum(1)
        places = torch.arange(16) + delay
        low = places.detach().floor().long().clamp(0, 30)
        part = places - low
        opt.zero_grad()
        (gain * ((1 - part) * x[:, low] + part * x[:, low + 1]) - x[:, 9:25]).pow(2).mean().backward()
        opt.step()


def bad_term_that_is_cut_in_several_places() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, upper, lower = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 4)
    opt = torch.optim.Adam([*body.parameters(), *upper.parameters(), *lower.parameters()], lr=0.01)
    for _ in range(4):
        labels = torch.randint(0, 4, (16,))
        hidden = torch.relu(body(torch.randn(16, 6)))
        first, second = upper(hidden), lower(hidden)
        chosen = torch.argmax(first.softmax(1), dim=1)  # cause: GS305
        below = torch.argmax(second.softmax(1), dim=1)
        outside = torch.tensor(
            [float(one.item() // 2 != two.item()) for one, two in zip(below, chosen, strict=True)]
        )
        wrong = torch.where(chosen == labels // 2, 0.0, 1.0)
        wrong_below = torch.where(below == labels, 0.0, 1.0)
        dependence = (wrong * outside + wrong_below * outside).mean()
        loss = nn.functional.cross_entropy(first, labels // 2) + nn.functional.cross_entropy(second, labels)
        loss = loss + dependence
        opt.zero_grad()
        loss.backward()  # effect: GS305
        opt.step()


def good_term_of_probabilities() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, upper, lower = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 4)
    opt = torch.optim.Adam([*body.parameters(), *upper.parameters(), *lower.parameters()], lr=0.01)
    parent = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    for _ in range(4):
        labels = torch.randint(0, 4, (16,))
        hidden = torch.relu(body(torch.randn(16, 6)))
        first, second = upper(hidden), lower(hidden)
        chosen, below = first.softmax(1), second.softmax(1)
        outside = 1 - (below @ parent * chosen).sum(1)
        wrong = 1 - chosen.gather(1, (labels // 2).unsqueeze(1)).squeeze(1)
        wrong_below = 1 - below.gather(1, labels.unsqueeze(1)).squeeze(1)
        dependence = (wrong * outside + wrong_below * outside).mean()
        loss = nn.functional.cross_entropy(first, labels // 2) + nn.functional.cross_entropy(second, labels)
        loss = loss + dependence
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_marks_of_the_highest() -> None:
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.manual_seed(0)
    model = nn.Conv2d(1, 3, 3, padding=1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(4, 1, 8, 8)
    y = (x[:, 0] > 0).long()
    for _ in range(3):
        logits = model(x)
        truth = F.one_hot(y, 3).permute(0, 3, 1, 2).float()
        marks = F.one_hot(logits.argmax(dim=1), 3).permute(0, 3, 1, 2).float()  # cause: GS305
        dice = 1 - 2 * (marks * truth).sum() / (marks.sum() + truth.sum())
        loss = F.cross_entropy(logits, y) + dice
        opt.zero_grad()
        loss.backward()  # effect: GS305
        opt.step()


def bad_place_of_the_highest_looked_up_in_a_table() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.out = nn.Embedding(3, 6), nn.Linear(6, 2)

        def forward(self, scores: torch.Tensor) -> torch.Tensor:
            tag = torch.max(scores, 1)[1]  # cause: GS305
            return self.out(self.table(tag))

    tagger, reader = nn.Linear(4, 3), Reader()
    opt = torch.optim.SGD([*tagger.parameters(), *reader.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(reader(tagger(torch.randn(8, 4))), torch.randint(0, 2, (8,)))
        loss.backward()  # effect: GS305
        opt.step()


def bad_places_of_a_sequence_looked_up_at_once() -> None:
    import torch
    from torch import nn

    tagger, table, out = nn.Conv1d(4, 3, 1), nn.Embedding(3, 6), nn.Linear(6, 2)
    opt = torch.optim.SGD([p for one in (tagger, table, out) for p in one.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores = tagger(torch.randn(8, 4, 5))
        rows = nn.functional.embedding(scores.argmax(dim=1), table.weight)  # cause: GS305
        loss = nn.functional.cross_entropy(out(rows.mean(1)), torch.randint(0, 2, (8,)))
        loss.backward()  # effect: GS305
        opt.step()


def good_rows_weighed_by_their_probability() -> None:
    import torch
    from torch import nn

    tagger, table, out = nn.Linear(4, 3), nn.Embedding(3, 6), nn.Linear(6, 2)
    opt = torch.optim.SGD([p for one in (tagger, table, out) for p in one.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        scores = tagger(torch.randn(8, 4))
        rows = torch.softmax(scores, 1) @ table.weight
        nn.functional.cross_entropy(out(rows), torch.randint(0, 2, (8,))).backward()
        opt.step()
