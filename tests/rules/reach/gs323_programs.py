"""More programs of GS323: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_critic_of_arrays() -> None:
    import numpy as np
    import torch
    from torch import nn

    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    actor, critic, target = nn.Linear(3, 1), nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(6):
        s, s2, a = (rng.normal(size=(16, n)).astype("float32") for n in (3, 3, 1))
        r, d = rng.normal(size=(16, 1)).astype("float32"), (np.arange(16) % 7 == 0).astype("float32")
        state, after, action = torch.from_numpy(s), torch.from_numpy(s2), torch.from_numpy(a)
        reward, goes_on = torch.from_numpy(r), torch.from_numpy(1 - d.reshape(-1, 1))  # effect: GS323
        with torch.no_grad():
            value = target(torch.cat([after, actor(after)], 1))
            wanted = reward + 0.99 * value  # cause: GS323
        loss = (critic(torch.cat([state, action], 1)) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_flags_as_truth_values() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, frozen = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def td_loss(memory: list[tuple[float, bool]], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        gains = torch.tensor([gain for gain, _ in memory])
        last = torch.tensor([end for _, end in memory])  # effect: GS323
        ahead = frozen(y).max(dim=1)[0].detach()
        return nn.functional.smooth_l1_loss(model(x)[:, 1], gains + ahead * 0.9)  # cause: GS323

    for step in range(6):
        memory = [(1.0, i % 5 == step) for i in range(16)]
        loss = td_loss(memory, torch.randn(16, 4), torch.randn(16, 4))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_estimate_set_to_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, frozen = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def learn(reward: list[float], ended: list[bool], x: torch.Tensor, y: torch.Tensor) -> None:
        over = torch.tensor(ended)
        with torch.no_grad():
            best = frozen(y).max(1).values
            best[over] = 0.0
        loss = nn.functional.mse_loss(model(x)[:, 0], torch.tensor(reward) + 0.9 * best)
        opt.zero_grad()
        loss.backward()
        opt.step()

    for step in range(6):
        learn([1.0] * 16, [i % 5 == step for i in range(16)], torch.randn(16, 4), torch.randn(16, 4))


def good_never_ends_but_is_cut_off() -> None:
    import torch
    from torch import nn

    class Memory:
        def sample(self, n: int) -> tuple[torch.Tensor, ...]:
            cut = torch.tensor([i % 5 == 0 for i in range(n)], dtype=torch.float32)
            return torch.randn(n, 4), torch.randn(n, 4), torch.randn(n), cut

    torch.manual_seed(0)
    model, frozen, memory = nn.Linear(4, 2), nn.Linear(4, 2), Memory()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        x, y, reward, _ = memory.sample(16)
        with torch.no_grad():
            target = reward + 0.9 * frozen(y).max(1).values
        loss = nn.functional.mse_loss(model(x)[:, 0], target)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_labels_that_nobody_needs() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(6):
        x = torch.randn(16, 4)
        y = torch.tensor([i % 2 for i in range(16)], dtype=torch.float32)
        loss = nn.functional.mse_loss(decoder(encoder(x)), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(len(y))


def bad_flags_of_the_memory_handed_over() -> None:
    import torch
    from torch import nn

    class Memory:
        def sample(self, n: int, step: int) -> tuple[torch.Tensor, ...]:
            over = [i % 5 == step for i in range(n)]
            return torch.randn(n, 4), torch.randn(n, 4), torch.randn(n), torch.tensor(over).float()

    torch.manual_seed(0)
    model, frozen, memory = nn.Linear(4, 2), nn.Linear(4, 2), Memory()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def td_loss(
        x: torch.Tensor,
        y: torch.Tensor,
        reward: torch.Tensor,
        over: torch.Tensor,  # effect: GS323
    ) -> torch.Tensor:
        with torch.no_grad():
            best = frozen(y).max(1).values
        target = reward + 0.9 * best  # cause: GS323
        return nn.functional.mse_loss(model(x)[:, 0], target)

    for step in range(6):
        loss = td_loss(*memory.sample(16, step % 5))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_flags_of_the_memory_used() -> None:
    import torch
    from torch import nn

    class Memory:
        def sample(self, n: int, step: int) -> tuple[torch.Tensor, ...]:
            over = [i % 5 == step for i in range(n)]
            return torch.randn(n, 4), torch.randn(n, 4), torch.randn(n), torch.tensor(over).float()

    torch.manual_seed(0)
    model, frozen, memory = nn.Linear(4, 2), nn.Linear(4, 2), Memory()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def td_loss(x: torch.Tensor, y: torch.Tensor, reward: torch.Tensor, over: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            best = frozen(y).max(1).values
        target = reward + 0.9 * best * (1 - over)
        return nn.functional.mse_loss(model(x)[:, 0], target)

    for step in range(6):
        loss = td_loss(*memory.sample(16, step % 5))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_flags_of_the_memory_for_its_own_statistics() -> None:
    import torch
    from torch import nn

    class Memory:
        def __init__(self) -> None:
            self.ends = 0.0

        def sample(self, n: int, step: int) -> tuple[torch.Tensor, ...]:
            cut = torch.tensor([i % 5 == step for i in range(n)]).float()
            self.ends += cut.sum().item()
            return torch.randn(n, 4), torch.randn(n, 4), torch.randn(n), cut

    torch.manual_seed(0)
    model, frozen, memory = nn.Linear(4, 2), nn.Linear(4, 2), Memory()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def td_loss(x: torch.Tensor, y: torch.Tensor, reward: torch.Tensor, _cut: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            best = frozen(y).max(1).values
        return nn.functional.mse_loss(model(x)[:, 0], reward + 0.9 * best)

    for step in range(6):
        loss = td_loss(*memory.sample(16, step % 5))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_flags_of_episodes_that_a_function_gives_back() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    adam = torch.optim.Adam(critic.parameters(), lr=0.01)

    def walks():
        cells, gains, finals = [], [], []
        for walk in range(4):
            for at in range(5 + walk):
                cells.append([float(at), float(walk), 1.0])
                gains.append(0.1 * at)
                finals.append(at == 4 + walk)
        return torch.tensor(cells), torch.tensor(gains), torch.tensor(finals)

    for _ in range(5):
        seen, gained, finals = walks()  # effect: GS323  # noqa: RUF059
        worth = critic(seen).squeeze(-1)
        later = torch.cat([worth[1:], torch.zeros(1)]).detach()
        wanted = gained + 0.9 * later  # cause: GS323
        loss = nn.functional.mse_loss(worth, wanted)
        adam.zero_grad()
        loss.backward()
        adam.step()


def good_flags_of_episodes_that_a_function_gives_back_for_a_sum() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    adam = torch.optim.Adam(critic.parameters(), lr=0.01)

    def walks():
        cells, gains, finals = [], [], []
        for walk in range(4):
            for at in range(5 + walk):
                cells.append([float(at), float(walk), 1.0])
                gains.append(0.1 * at)
                finals.append(at == 4 + walk)
        return torch.tensor(cells), torch.tensor(gains), torch.tensor(finals)

    for _ in range(5):
        seen, gained, finals = walks()
        worth = critic(seen).squeeze(-1)
        later = torch.cat([worth[1:], torch.zeros(1)]).detach()
        wanted = gained + 0.9 * later * ~finals
        loss = nn.functional.mse_loss(worth, wanted)
        adam.zero_grad()
        loss.backward()
        adam.step()


def bad_target_detached_behind_the_discount() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def td_loss(memory: list[tuple[float, bool]], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        gains = torch.FloatTensor([gain for gain, _ in memory]).to("cpu")
        ends = torch.FloatTensor([end for _, end in memory]).to("cpu")  # effect: GS323
        ahead = model(y).max(1)[0]
        wanted = gains + (0.9 * ahead).detach()  # cause: GS323
        return nn.functional.mse_loss(model(x)[:, 1], wanted)

    for step in range(6):
        loss = td_loss([(1.0, i % 5 == step) for i in range(16)], torch.randn(16, 4), torch.randn(16, 4))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_discount_in_the_addition() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model, slow = nn.Linear(3, 3), nn.Linear(3, 3)
    slow.load_state_dict(model.state_dict())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def update(now, then, comfort, night):
        going_on = torch.logical_not(night).float()  # effect: GS323
        with torch.no_grad():
            ahead = torch.gather(slow(then), 1, model(then).argmax(1, keepdim=True))[:, 0]
            goal = torch.add(comfort, ahead, alpha=0.97)  # cause: GS323
        loss = nn.functional.huber_loss(model(now)[:, 0], goal)
        opt.zero_grad()
        loss.backward()
        opt.step()

    for step in range(6):
        now = rng.normal(size=(16, 3)).astype(np.float32)
        rows = now, now + 0.1, -np.abs(now[:, 0]), np.arange(16) % 6 == step
        update(*map(torch.from_numpy, rows))
        slow.load_state_dict(model.state_dict())


def good_discount_in_the_addition() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    model, slow = nn.Linear(3, 3), nn.Linear(3, 3)
    slow.load_state_dict(model.state_dict())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)

    def update(now, then, comfort, night):
        going_on = torch.logical_not(night).float()
        with torch.no_grad():
            ahead = torch.gather(slow(then), 1, model(then).argmax(1, keepdim=True))[:, 0]
            goal = torch.add(comfort, ahead * going_on, alpha=0.97)
        loss = nn.functional.huber_loss(model(now)[:, 0], goal)
        opt.zero_grad()
        loss.backward()
        opt.step()

    for step in range(6):
        now = rng.normal(size=(16, 3)).astype(np.float32)
        rows = now, now + 0.1, -np.abs(now[:, 0]), np.arange(16) % 6 == step
        update(*map(torch.from_numpy, rows))
        slow.load_state_dict(model.state_dict())
