"""More programs of GS765: each bad one is reported at its marks, each good one by no rule."""


def bad_dice() -> None:
    import torch
    from torch import nn

    class Dice(nn.Module):
        def forward(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            p = torch.sigmoid(scores).flatten(1)
            m = mask.flatten(1)
            both = (p * m).sum(1)
            overlap = (2 * both + 1) / (p.sum(1) + m.sum(1) + 1)  # cause: GS765
            return overlap.mean()

    torch.manual_seed(0)
    x = torch.randn(16, 1, 8, 8)
    mask = (x > 0.5).float()
    net = nn.Conv2d(1, 1, 3, padding=1)
    criterion = Dice()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        opt.zero_grad()
        loss = criterion(net(x), mask)
        loss.backward()  # effect: GS765
        opt.step()


def bad_log_probability() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x[:, :3].argmax(1)
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        log_p = model(x).log_softmax(1)
        loss = log_p.gather(1, y.unsqueeze(1)).mean()  # cause: GS765
        loss.backward()  # effect: GS765
        opt.step()


def good_minimax_generator() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, judge = nn.Linear(2, 4), nn.Linear(4, 1)
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    opt_j = torch.optim.Adam(judge.parameters(), lr=0.01)
    ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
    criterion = nn.BCEWithLogitsLoss()
    for _ in range(5):
        fake = generator(torch.randn(16, 2))
        opt_j.zero_grad()
        (criterion(judge(torch.randn(16, 4)), ones) + criterion(judge(fake.detach()), zeros)).backward()
        opt_j.step()
        for p in judge.parameters():
            p.requires_grad_(False)
        opt_g.zero_grad()
        loss = -criterion(judge(generator(torch.randn(16, 2))), zeros)
        loss.backward()
        opt_g.step()
        for p in judge.parameters():
            p.requires_grad_(True)


def good_maximised() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x[:, :3].argmax(1)
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, maximize=True)
    for _ in range(5):
        opt.zero_grad()
        loss = -nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()


def good_policy_gradient() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(5):
        log_p = policy(torch.randn(32, 4)).log_softmax(1)
        actions = torch.distributions.Categorical(logits=log_p.detach()).sample()
        cost = torch.randn(32)
        opt.zero_grad()
        loss = (log_p[torch.arange(32), actions] * cost).mean()
        loss.backward()
        opt.step()


def good_forgotten_beside_what_is_kept() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    kept, gone = torch.randn(32, 4), torch.randn(8, 4)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(5):
        opt.zero_grad()
        loss = -nn.functional.cross_entropy(model(gone), torch.zeros(8, dtype=torch.long))
        loss.backward()
        opt.step()
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(kept), torch.ones(32, dtype=torch.long))
        loss.backward()
        opt.step()


def good_mean_that_is_shifted() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(16, 1, 8, 8)
    mask = (x > 0.5).float()
    net = nn.Conv2d(1, 1, 3, padding=1)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(5):
        p = torch.sigmoid(net(x))
        both = (p * mask).sum()
        opt.zero_grad()
        loss = 1 - (2 * both + 1) / (p.sum() + mask.sum() + 1)
        loss.backward()
        opt.step()


def good_masked_mean() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(16, 6, 4)
    y = x[..., :3].argmax(-1)
    mask = (torch.arange(6)[None] < torch.randint(2, 7, (16, 1))).float()
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        each = nn.functional.cross_entropy(model(x).transpose(1, 2), y, reduction="none")
        total = (each * mask).sum()
        sums = torch.stack([total.detach(), mask.sum()])
        opt.zero_grad()
        (total / sums[1]).backward()
        opt.step()


def bad_likelihood_of_a_path() -> None:
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score, self.step = nn.Linear(4, 3), nn.Parameter(0.1 * torch.randn(3, 3))

        def forward(self, x: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            e = self.score(x)
            own = e.gather(2, tags.unsqueeze(2)).squeeze(2)
            path, alpha = own[:, 0], e[:, 0]
            for t in range(1, x.shape[1]):
                path = path + (self.step[tags[:, t - 1], tags[:, t]] + own[:, t]) * mask[:, t]
                onward = torch.logsumexp(alpha.unsqueeze(2) + self.step, dim=1) + e[:, t]
                alpha = torch.where(mask[:, t].unsqueeze(1), onward, alpha)
            y: torch.Tensor = (path - torch.logsumexp(alpha, dim=1)).sum() / mask.sum()  # cause: GS765
            return y

    torch.manual_seed(0)
    model = Tagger()
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(5):
        x, mask = torch.randn(8, 5, 4), torch.arange(5) < torch.randint(2, 6, (8, 1))
        opt.zero_grad()
        loss = model(x, x[..., :3].argmax(2), mask)
        loss.backward()  # effect: GS765
        opt.step()


def good_likelihood_of_a_path_turned_round() -> None:
    import torch
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score, self.step = nn.Linear(4, 3), nn.Parameter(0.1 * torch.randn(3, 3))

        def forward(self, x: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            e = self.score(x)
            own = e.gather(2, tags.unsqueeze(2)).squeeze(2)
            path, alpha = own[:, 0], e[:, 0]
            for t in range(1, x.shape[1]):
                path = path + (self.step[tags[:, t - 1], tags[:, t]] + own[:, t]) * mask[:, t]
                onward = torch.logsumexp(alpha.unsqueeze(2) + self.step, dim=1) + e[:, t]
                alpha = torch.where(mask[:, t].unsqueeze(1), onward, alpha)
            y: torch.Tensor = (torch.logsumexp(alpha, dim=1) - path).sum() / mask.sum()
            return y

    torch.manual_seed(0)
    model = Tagger()
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(5):
        x, mask = torch.randn(8, 5, 4), torch.arange(5) < torch.randint(2, 6, (8, 1))
        opt.zero_grad()
        loss = model(x, x[..., :3].argmax(2), mask)
        loss.backward()
        opt.step()


def good_energy_of_what_is_drawn() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=0.1)
    for _ in range(5):
        seen, drawn = torch.randn(8, 4) + 1, torch.randn(8, 4)
        opt.zero_grad()
        loss = (model(drawn)[:, 0] - torch.logsumexp(model(seen), dim=1)).mean() - 1
        loss.backward()
        opt.step()


def bad_divergence_of_codes_is_made_larger() -> None:
    import math

    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    data = torch.rand(64, 6).round()
    encoder, decoder = nn.Linear(6, 12), nn.Linear(12, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for rows in torch.arange(64).split(16):
        logits = encoder(data[rows]).view(-1, 3, 4)
        q = torch.softmax(logits, dim=-1)
        codes = F.gumbel_softmax(logits, tau=1.0).flatten(1)
        kld = -torch.sum(q * (torch.log(q + 1e-20) - math.log(0.25)), dim=(1, 2)).mean()  # cause: GS765
        loss = F.binary_cross_entropy_with_logits(decoder(codes), data[rows]) + kld
        opt.zero_grad()
        loss.backward()  # effect: GS765
        opt.step()


def bad_normal_divergence_without_its_minus() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(64, 6)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for rows in torch.arange(64).split(16):
        mean, variance = encoder(data[rows]).chunk(2, dim=1)
        sample = mean + torch.randn_like(mean) * torch.exp(0.5 * variance)
        near = nn.functional.mse_loss(decoder(sample), data[rows])
        kld = 0.5 * torch.mean(1 + variance - mean.pow(2) - variance.exp())  # cause: GS765
        opt.zero_grad()
        (near + kld).backward()  # effect: GS765
        opt.step()


def good_normal_divergence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(64, 6)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for rows in torch.arange(64).split(16):
        mean, variance = encoder(data[rows]).chunk(2, dim=1)
        sample = mean + torch.randn_like(mean) * torch.exp(0.5 * variance)
        near = -nn.functional.mse_loss(decoder(sample), data[rows])
        bound = near + 0.5 * torch.mean(1 + variance - mean.pow(2) - variance.exp())
        opt.zero_grad()
        (-bound).backward()
        opt.step()


def good_codes_are_made_certain() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x[:, :3].argmax(1)
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        q = model(x).softmax(1)
        certain = -(q * torch.log(q + 1e-8)).sum(1).mean()
        loss = nn.functional.cross_entropy(model(x), y) + 0.1 * certain
        loss.backward()
        opt.step()


def good_divergence_from_a_constant() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x[:, :3].argmax(1)
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        q = model(x).softmax(1)
        loss = nn.functional.cross_entropy(model(x), y) + 0.1 * (q * torch.log(q * 3 + 1e-8)).sum(1).mean()
        loss.backward()
        opt.step()


def good_entropy_as_a_share_of_the_largest() -> None:
    import math

    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x[:, :3].argmax(1)
    model = nn.Linear(5, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        q = model(x).softmax(1)
        certain = -(q * (torch.log(q * (1 - 1e-6) + 1e-8) / math.log(3))).sum(1).mean()
        loss = nn.functional.cross_entropy(model(x), y) + 0.1 * certain
        loss.backward()
        opt.step()


def good_two_distributions_that_pull_against_each_other() -> None:
    import torch
    from torch import nn

    def apart(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
        return (p * ((p + 1e-6).log() - (q + 1e-6).log())).sum(-1).mean()

    torch.manual_seed(0)
    weight, model = 0.3, nn.Linear(5, 8)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(64, 5)
        given = model(x)
        one, other = given[:, :4].softmax(1), given[:, 4:].softmax(1)
        error = (given[:, 0] - x[:, 0]).pow(2).mean()
        loss = (error - weight * apart(one, other.detach())) + (error + weight * apart(other, one.detach()))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_preference_without_its_minus() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(5, 3)
    reference = copy.deepcopy(policy).requires_grad_(False)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(6):
        x, rows = torch.randn(16, 5), torch.arange(16)
        logs, before = policy(x).log_softmax(1), reference(x).log_softmax(1)
        better, worse = torch.randint(0, 3, (16,)), torch.randint(0, 3, (16,))
        gained = (logs - before)[rows, better] - (logs - before)[rows, worse]
        loss = nn.functional.logsigmoid(0.5 * gained).mean()  # cause: GS765
        opt.zero_grad()
        loss.backward()  # effect: GS765
        opt.step()


def good_generator_of_the_first_kind() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    made, judge = nn.Linear(3, 5), nn.Linear(5, 1)
    opt, opt_judge = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (made, judge))
    for _ in range(6):
        fake = made(torch.randn(16, 3))
        real = nn.functional.logsigmoid(judge(torch.randn(16, 5)))
        loss_judge = -(real + nn.functional.logsigmoid(-judge(fake.detach()))).mean()
        opt_judge.zero_grad()
        loss_judge.backward()
        opt_judge.step()
        loss = nn.functional.logsigmoid(-judge(fake)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_density_of_a_mixture() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    times = torch.cat([torch.randn(40) * 0.3 - 1, torch.randn(40) * 0.5 + 1.5])
    centre, width = nn.Parameter(torch.linspace(-2, 2, 4)), nn.Parameter(torch.zeros(4))
    shares = nn.Parameter(torch.zeros(4))
    opt = torch.optim.Adam([centre, width, shares], lr=0.05)
    for _ in range(6):
        apart = (times.unsqueeze(-1) - centre) * torch.exp(-width)
        part = -0.5 * apart.square() - width
        objective = torch.logsumexp(part + torch.log_softmax(shares, 0), -1).mean()  # cause: GS765
        opt.zero_grad()
        objective.backward()  # effect: GS765
        opt.step()


def bad_squares_with_a_minus() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x[:, 0] - x[:, 1]
    model = nn.Linear(5, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        error = (model(x).squeeze(1) - y) ** 2
        loss = -error.mean()  # cause: GS765
        opt.zero_grad()
        loss.backward()  # effect: GS765
        opt.step()


def good_density_of_a_mixture_turned_round() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    times = torch.cat([torch.randn(40) * 0.3 - 1, torch.randn(40) * 0.5 + 1.5])
    centre, width = nn.Parameter(torch.linspace(-2, 2, 4)), nn.Parameter(torch.zeros(4))
    shares = nn.Parameter(torch.zeros(4))
    opt = torch.optim.Adam([centre, width, shares], lr=0.05)
    for _ in range(6):
        apart = (times.unsqueeze(-1) - centre) * torch.exp(-width)
        part = -0.5 * apart.square() - width
        objective = -torch.logsumexp(part + torch.log_softmax(shares, 0), -1).mean()
        opt.zero_grad()
        objective.backward()
        opt.step()


def good_energy_lower_at_the_data_than_beside_it() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(64, 2) + 1
    centre = nn.Parameter(torch.zeros(2))
    opt = torch.optim.SGD([centre], lr=0.05)
    for _ in range(5):
        beside = torch.randn(64, 2)
        near, far = (data - centre).square().sum(1), (beside - centre).square().sum(1)
        loss = (near - far).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_kernel_of_a_distance() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    y = x[:, 0] - x[:, 1]
    model = nn.Linear(5, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        loss = -torch.exp(-((model(x).squeeze(1) - y) ** 2)).mean()  # a loss that outliers do not pull
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_kept_apart_from_what_is_taken() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    taken = torch.randn(16, 2)
    place = nn.Parameter(torch.randn(4, 2) * 0.1)
    opt = torch.optim.SGD([place], lr=0.05)
    for _ in range(5):
        apart = (place.unsqueeze(1) - taken).square().sum(-1)
        loss = torch.relu(1 - apart).mean()  # as far as a margin
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_density_of_a_distribution() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    model = nn.Linear(5, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        centre, width = model(x).unbind(1)
        given = torch.distributions.Normal(centre, width.exp())
        loss = given.log_prob(x[:, 0]).mean()  # cause: GS765
        opt.zero_grad()
        loss.backward()  # effect: GS765
        opt.step()


def good_density_of_a_distribution_turned_round() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    model = nn.Linear(5, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        centre, width = model(x).unbind(1)
        given = torch.distributions.Normal(centre, width.exp())
        loss = -given.log_prob(x[:, 0]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_log_probability_weighed_by_what_came_of_it() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(5, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(64, 5)
        centre, width = policy(x).unbind(1)
        acts = torch.distributions.Normal(centre, width.exp())
        action = acts.sample()
        regret = (action - x[:, 0]).square()
        loss = (acts.log_prob(action) * (regret - regret.mean())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_log_probability_times_the_cost_of_a_game() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(5, 2)
    opt = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(5):
        x = torch.randn(64, 5)
        centre, width = policy(x).unbind(1)
        acts = torch.distributions.Normal(centre, width.exp())
        played = torch.tensor(acts.sample().tolist())
        cost = float((played - x[:, 0]).square().mean())
        loss = acts.log_prob(played).mean() * cost
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_likelihood_of_counts() -> None:
    import torch
    from torch import nn
    from torch.distributions import Poisson

    torch.manual_seed(0)
    hours = torch.randn(64, 5)
    counts = torch.poisson((0.5 * hours[:, 0] + 1).exp())
    net = nn.Linear(5, 1)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(5):
        rows = torch.randint(64, (16,))
        likelihood = Poisson(net(hours[rows]).squeeze(-1).exp()).log_prob(counts[rows])  # cause: GS765
        loss = likelihood.mean()
        opt.zero_grad()
        loss.backward()  # effect: GS765
        opt.step()


def bad_likelihood_of_labels_by_a_distribution() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    net = nn.Linear(5, 3)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(5):
        rows = torch.randint(64, (16,))
        loss = Categorical(logits=net(x[rows])).log_prob(x[rows, :3].argmax(1)).mean()  # cause: GS765
        opt.zero_grad()
        loss.backward()  # effect: GS765
        opt.step()


def good_likelihood_with_a_minus_and_a_policy_that_is_to_leave_its_own_draws() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical, Poisson

    torch.manual_seed(0)
    hours = torch.randn(64, 5)
    counts = torch.poisson((0.5 * hours[:, 0] + 1).exp())
    net, policy = nn.Linear(5, 1), nn.Linear(5, 3)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(5):
        rows = torch.randint(64, (16,))
        likelihood = Poisson(net(hours[rows]).squeeze(-1).exp()).log_prob(counts[rows])
        opt.zero_grad()
        likelihood.mean().neg().backward()
        opt.step()
    opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for _ in range(5):
        chosen = Categorical(logits=policy(hours[:16]))
        opt.zero_grad()
        chosen.log_prob(chosen.sample()).mean().backward()
        opt.step()


def bad_one_of_several() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.02)

    def turn(x: torch.Tensor, masks: torch.Tensor) -> tuple[torch.Tensor, float]:
        out = model(x)
        both = (out * masks).sum(1)
        dice = (2.0 * both + 1e-5) / (out.sum(1) + masks.sum(1) + 1e-5)  # cause: GS765
        return dice.mean(), (out.round() == masks).float().mean().item()

    for _ in range(20):
        x = torch.randn(16, 6)
        loss, share = turn(x, (x > 0).float())
        opt.zero_grad()
        loss.backward()  # effect: GS765
        opt.step()
    print(share)
