"""Further programs for GS439, sum-of-terms-unused."""


def bad_another_term_is_returned() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(8, 24), nn.Linear(24, 8)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)

    def loss_and_log(x: torch.Tensor, log: bool) -> tuple[torch.Tensor, dict[str, float] | None]:
        pre = encoder(x)
        values, index = pre.topk(4, dim=-1)
        made = decoder(torch.zeros_like(pre).scatter(-1, index, values.relu()))
        reconstruction = (made - x).pow(2).mean()
        rest = (x - made).detach()
        auxiliary = (pre @ decoder.weight.T - rest).pow(2).mean()
        loss = reconstruction + 0.5 * auxiliary  # cause: GS439
        if log:
            return reconstruction, {"loss": loss.item(), "aux": auxiliary.item()}
        return reconstruction, None

    for step in range(8):
        loss, told = loss_and_log(torch.randn(32, 8), step % 4 == 0)
        opt.zero_grad()
        loss.backward()  # effect: GS439
        opt.step()
    print(told is None)


def good_each_term_has_its_pass() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, one, other = nn.Linear(6, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt = torch.optim.Adam([*body.parameters(), *one.parameters(), *other.parameters()], lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 6)
        features = torch.tanh(body(x))
        first = (one(features).squeeze(1) - x.sum(1)).pow(2).mean()
        second = (other(features).squeeze(1) - x.prod(1)).pow(2).mean()
        total = first + second
        opt.zero_grad()
        first.backward(retain_graph=True)
        second.backward()
        opt.step()
    print(total.item() > 0)


def good_objective_with_the_decay_is_logged() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(6, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=1e-2)
    for _ in range(6):
        x = torch.randn(16, 6)
        error = (model(x).squeeze(1) - x.sum(1)).pow(2).mean()
        objective = error + 0.5e-2 * model.weight.pow(2).sum()
        opt.zero_grad()
        error.backward()
        opt.step()
        print(objective.item() > 0)


def good_second_term_comes_later() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(12):
        x = torch.randn(16, 6)
        out = model(x).squeeze(1)
        error = (out - x.sum(1)).pow(2).mean()
        smooth = (out - model(x + 0.1 * torch.randn_like(x)).squeeze(1)).pow(2).mean()
        total = error + 0.1 * smooth
        opt.zero_grad()
        (total if step >= 6 else error).backward()
        opt.step()


def good_first_term_has_had_its_pass() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic, generator = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1)), nn.Linear(3, 2)
    opt_c = torch.optim.Adam(critic.parameters(), lr=0.01)
    opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
    judge = nn.functional.binary_cross_entropy_with_logits
    for _ in range(6):
        opt_c.zero_grad()
        of_real = judge(critic(torch.randn(16, 2) + 1), torch.ones(16, 1))
        of_real.backward()
        made = generator(torch.randn(16, 3))
        of_made = judge(critic(made.detach()), torch.zeros(16, 1))
        of_made.backward()
        both = of_real + of_made
        opt_c.step()
        opt_g.zero_grad()
        judge(critic(made), torch.ones(16, 1)).backward()
        opt_g.step()
    print(both.item() > 0)
