"""More programs of GS108: each bad one is reported at its marks, each good one by no rule."""


def bad_gan_in_the_wrong_order() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    fake = generator(torch.randn(4, 2))
    loss_g = -critic(fake).mean()
    loss_c = critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()
    loss_c.backward()
    opt_c.step()  # cause: GS108
    opt_g.zero_grad()
    loss_g.backward()  # effect: GS108
    opt_g.step()


def bad_graph_kept_over_the_step() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    out = model(torch.ones(2, 3))
    out.mean().backward(retain_graph=True)
    opt.step()  # cause: GS108
    opt.zero_grad()
    out.pow(2).mean().backward()  # effect: GS108
    opt.step()


def bad_state_kept_over_the_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    h = torch.zeros(2, 4)
    for _ in range(3):
        h = cell(torch.randn(2, 3), h)  # cause: GS108
        loss = head(h).pow(2).mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)  # effect: GS108
        opt.step()


def good_gan() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator, critic = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
    opt_g = torch.optim.Adam(generator.parameters())
    opt_c = torch.optim.Adam(critic.parameters())
    for _ in range(2):
        fake = generator(torch.randn(4, 2))
        opt_c.zero_grad()
        (critic(fake.detach()).mean() - critic(torch.randn(4, 2)).mean()).backward()
        opt_c.step()
        opt_g.zero_grad()
        (-critic(fake).mean()).backward()
        opt_g.step()


def bad_estimate_made_before_the_epochs() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.trunk, self.actor, self.critic = nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            h = torch.tanh(self.trunk(x))
            return self.actor(h), self.critic(h)

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(5, 3)
    _, value = net(x)
    for _ in range(3):
        scores, _ = net(x)
        gain = (1 - value.detach()) * scores.log_softmax(1)
        loss = (value - 1).pow(2).mean() - gain.mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)  # effect: GS108
        opt.step()  # cause: GS108


def good_state_detached() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    h = torch.zeros(2, 4)
    for _ in range(3):
        h = cell(torch.randn(2, 3), h.detach())
        loss = head(h).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_output_handed_on_after_its_step() -> None:
    import torch
    from torch import nn

    first, second = (nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2)) for _ in range(2))
    opt_first = torch.optim.SGD(first.parameters(), lr=0.1)
    opt_second = torch.optim.SGD(second.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 2)
        guess = first(x)
        opt_first.zero_grad()
        (guess - 2 * x).pow(2).mean().backward(retain_graph=True)
        opt_first.step()  # cause: GS108
        opt_second.zero_grad()
        (second(guess) - x).pow(2).mean().backward()  # effect: GS108
        opt_second.step()


def bad_loss_of_both_after_the_step_of_one() -> None:  # fix: by hand
    import torch
    from torch import nn

    first, second = (nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 2)) for _ in range(2))
    opt_first = torch.optim.SGD(first.parameters(), lr=0.1)
    opt_both = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 2)
        guess = first(x)
        opt_first.zero_grad()
        (guess - 2 * x).pow(2).mean().backward(retain_graph=True)
        opt_first.step()  # cause: GS108
        opt_both.zero_grad()
        (second(guess) - x).pow(2).mean().backward()  # effect: GS108
        opt_both.step()


def bad_both_states_of_an_lstm() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn = nn.LSTM(2, 3, batch_first=True)
    opt = torch.optim.SGD(rnn.parameters(), lr=0.1)
    h = torch.zeros(1, 4, 3)
    c = torch.zeros(1, 4, 3)
    for _ in range(3):
        opt.zero_grad()
        out, (h, c) = rnn(torch.randn(4, 5, 2), (h, c))  # cause: GS108
        out.mean().backward(retain_graph=True)  # effect: GS108
        opt.step()  # related: GS108


def bad_by_a_term_that_is_used_again() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Critic(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.judge, self.features = nn.Linear(6, 8), nn.Linear(8, 1), nn.Linear(8, 5)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            hidden = torch.tanh(self.body(x))
            return self.judge(hidden), self.features(hidden).tanh()

    maker, critic = nn.Linear(6, 6), Critic()
    of_maker = torch.optim.Adam(maker.parameters())
    of_critic = torch.optim.Adam(critic.parameters())
    for _ in range(2):
        real = torch.rand(4, 6)
        on_real, real_features = critic(real)
        fake = maker(real)
        on_fake, fake_features = critic(fake.detach())
        near = (fake_features - real_features).square().mean()
        of_critic.zero_grad()
        (on_fake.mean() - on_real.mean() + near).backward(retain_graph=True)
        of_critic.step()  # cause: GS108
        of_maker.zero_grad()
        judged, _ = critic(fake)
        (near - judged.mean() + (fake - real).abs().mean()).backward(retain_graph=True)  # effect: GS108
        of_maker.step()


def bad_two_losses_of_one_forward() -> None:
    import torch
    from torch import nn

    class Series(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.width = nn.Linear(3, 4), nn.Linear(3, 4)
            self.head = nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 3))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            hidden = self.body(x)
            return self.head(hidden), hidden.softmax(1), self.width(x).softmax(1)

    model = Series()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(8, 3)
        opt.zero_grad()
        out, series, prior = model(x)
        near = (out - x).pow(2).mean()
        first = near - (series - prior.detach()).abs().mean()
        second = near + (prior - series.detach()).abs().mean()
        first.backward(retain_graph=True)
        opt.step()  # cause: GS108
        second.backward()  # effect: GS108
        opt.step()


def bad_state_computed_before_the_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Agent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4))
            self.actor, self.stop = nn.Linear(4, 2), nn.Linear(4, 1)

        def state_of(self, seen: torch.Tensor) -> torch.Tensor:
            return self.body(seen)  # type: ignore[no-any-return]

        def act(self, state: torch.Tensor) -> torch.Tensor:
            return self.actor(state).log_softmax(0)[0]

        def stops(self, state: torch.Tensor) -> bool:
            return bool(self.stop(state.detach()).item() > 100)

    agent = Agent()
    opt = torch.optim.SGD(agent.parameters(), lr=0.1)
    state, over = agent.state_of(torch.zeros(3)), False
    for turn in range(5):
        chosen = agent.act(state)
        seen = torch.randn(3)
        state = agent.state_of(seen)  # cause: GS108
        over = agent.stops(state)
        if turn:
            opt.zero_grad()
            loss = (chosen - 0.1 * agent.stop(agent.state_of(seen))).mean()
            loss.backward()  # effect: GS108
            opt.step()  # related: GS108
        if over:
            break


def good_state_computed_after_the_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, actor = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 4)), nn.Linear(4, 2)
    opt = torch.optim.SGD([*body.parameters(), *actor.parameters()], lr=0.1)
    state = body(torch.zeros(3))
    for _ in range(5):
        loss = actor(state).log_softmax(0)[0]
        opt.zero_grad()
        loss.backward()
        opt.step()
        state = body(torch.randn(3))


def bad_advantages_with_their_graph() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=0.01)
    for _ in range(2):
        state = torch.randn(32, 4)
        chosen = torch.distributions.Categorical(logits=policy(state)).sample()
        gained = (chosen == (state[:, 0] > 0)).float()
        old = torch.distributions.Categorical(logits=policy(state)).log_prob(chosen).detach()
        advantage = gained - critic(state).squeeze(1)  # cause: GS108
        for _ in range(3):
            now = torch.distributions.Categorical(logits=policy(state)).log_prob(chosen)
            gain = torch.min((now - old).exp() * advantage, (now - old).exp().clamp(0.8, 1.2) * advantage)
            loss = (critic(state).squeeze(1) - gained).pow(2).mean() - gain.mean()
            opt.zero_grad()
            loss.backward(retain_graph=True)  # effect: GS108
            opt.step()
