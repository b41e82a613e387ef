"""More programs of GS324: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_second_term_in_place_of_the_first() -> None:
    import torch
    from torch import nn

    def loss_of(model: nn.Module, head: nn.Module, x: torch.Tensor) -> torch.Tensor:
        hidden = model(x)
        loss = (hidden - x).pow(2).mean()  # cause: GS324
        loss = head(hidden).abs().mean()  # effect: GS324
        return 2 * loss

    model, head = nn.Linear(3, 3), nn.Linear(3, 1)
    opt = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss_of(model, head, torch.randn(8, 3)).backward()
        opt.step()


def bad_state_copied_twice() -> None:
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn = nn.LSTM(3, 8, batch_first=True)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            out, (hidden, cell) = self.rnn(x)  # effect: GS324
            print(out.shape)
            hidden, cell = hidden[-1], hidden[-1]  # cause: GS324
            return hidden, cell

    encoder, head = Encoder(), nn.Linear(8, 1)
    opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        head(encoder(torch.randn(8, 5, 3))[1]).pow(2).mean().backward()
        opt.step()


def bad_sum_of_terms_begun_anew_in_the_middle() -> None:
    import torch
    from torch import nn

    encoder, judge = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    opt_judge = torch.optim.SGD(judge.parameters(), lr=0.1)
    weights = {"adversarial": 0.1, "identity": 0.5, "distance": 1.0}

    def combined(x: torch.Tensor, code: torch.Tensor) -> torch.Tensor:
        loss, terms = torch.zeros(()), {}
        if weights["adversarial"] > 0:
            adversarial = nn.functional.softplus(-judge(code)).mean()
            terms["adversarial"] = float(adversarial)
            loss += adversarial * weights["adversarial"]  # cause: GS324
        if weights["identity"] > 0:
            identity = (1 - torch.cosine_similarity(code, x)).mean()
            loss = identity * weights["identity"]  # effect: GS324
        if weights["distance"] > 0:
            loss += nn.functional.mse_loss(code, x) * weights["distance"]
        return loss

    for _ in range(4):
        x = torch.randn(8, 4)
        opt_judge.zero_grad()
        ((judge(x) - 1).pow(2).mean() + judge(encoder(x).detach()).pow(2).mean()).backward()
        opt_judge.step()
        opt.zero_grad()
        combined(x, encoder(x)).backward()
        opt.step()


def good_first_phase_on_one_term() -> None:
    import torch
    from torch import nn

    body, left, right = nn.Linear(3, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *left.parameters(), *right.parameters()], lr=0.1)
    for step in range(6):
        hidden = body(torch.randn(16, 3)).relu()
        one, other = left(hidden).pow(2).mean(), (right(hidden) - 1).pow(2).mean()
        total = one + other
        if step < 3:
            total = one
        opt.zero_grad()
        total.backward()
        opt.step()


def good_contains_the_first() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        print(loss.item())
        loss = loss + 0.01 * model.weight.pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_passed_before_the_name_goes_on() -> None:
    import torch
    from torch import nn

    critic, actor = nn.Linear(3, 1), nn.Linear(2, 3)
    opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
    opt_a = torch.optim.SGD(actor.parameters(), lr=0.1)
    for _ in range(4):
        loss = (critic(torch.randn(8, 3)) - 1).pow(2).mean()
        opt_c.zero_grad()
        loss.backward()
        opt_c.step()
        loss = critic(actor(torch.randn(8, 2))).pow(2).mean()
        opt_a.zero_grad()
        loss.backward()
        opt_a.step()


def good_one_value_for_both_states() -> None:
    import torch
    from torch import nn

    encoder, cell = nn.GRU(3, 8, batch_first=True), nn.LSTMCell(3, 8)
    head = nn.Linear(8, 1)
    opt = torch.optim.SGD([p for m in (encoder, cell, head) for p in m.parameters()], lr=0.1)
    for _ in range(4):
        state = encoder(torch.randn(8, 5, 3))[1][0]
        h, c = state, state
        h, c = cell(torch.randn(8, 3), (h, c))
        opt.zero_grad()
        (head(h) + head(c)).pow(2).mean().backward()
        opt.step()


def good_evaluated_between_loss_and_pass() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        loss = (model(torch.randn(8, 3)) - 1).pow(2).mean()
        for _ in range(2):
            with torch.no_grad():
                print(model(torch.randn(8, 3)).mean().item())
        opt.zero_grad()
        loss.backward()
        opt.step()
        loss = torch.zeros(())
        print(loss)


def good_sum_shown_and_begun_anew() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        shown = torch.zeros(())
        for batch in range(2):
            loss = model(torch.randn(8, 4)).pow(2).mean()
            shown += loss.detach()
            if batch % 2:
                print(shown.item())
                shown = torch.zeros(())
            total = torch.zeros(())
            total += loss
            if epoch == 1:
                total = total + model.weight.pow(2).sum()
            opt.zero_grad()
            total.backward()
            opt.step()


def bad_name_of_a_term_given_to_the_sum_that_takes_it() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, speaker, judge = nn.Linear(3, 8), nn.Linear(8, 4), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *speaker.parameters(), *judge.parameters()], lr=0.1)
    for _ in range(4):
        hidden = body(torch.randn(16, 3)).relu()
        loss = nn.functional.cross_entropy(speaker(hidden), torch.randint(4, (16,)))
        right = (torch.rand(16) > 0.5).float()
        judged = nn.functional.binary_cross_entropy_with_logits(judge(hidden)[:, 0], right)  # cause: GS324
        judged = loss  # effect: GS324
        loss += judged
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_scaled_term_that_a_later_sum_has_too() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, left, right = nn.Linear(3, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *left.parameters(), *right.parameters()], lr=0.1)
    for _ in range(4):
        hidden = body(torch.randn(16, 3)).relu()
        one = left(hidden).pow(2).mean()
        other = (right(hidden) - 1).pow(2).mean()  # cause: GS324
        other = one * 0.5  # effect: GS324
        loss = one + other
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_sum_under_a_condition_that_the_second_does_not_have() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Both(nn.Module):
        def __init__(self, share: float = 0.5) -> None:
            super().__init__()
            self.body, self.left, self.right = nn.Linear(3, 8), nn.Linear(8, 1), nn.Linear(8, 1)
            self.share = share

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.body(x).relu()
            main = self.left(hidden).pow(2).mean()
            if self.share > 0:
                other = (self.right(hidden) - 1).pow(2).mean()
                loss = main + self.share * other  # cause: GS324
            loss = main  # effect: GS324
            return loss  # noqa: RET504

    model = Both()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        loss = model(torch.randn(16, 3))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_term_under_a_condition_is_gone() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, left, right = nn.Linear(3, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *left.parameters(), *right.parameters()], lr=0.1)
    share = 0.1
    for step in range(6):
        hidden = body(torch.randn(16, 3)).relu()
        if share > 0:
            loss = share * (right(hidden) - 1).pow(2).mean()  # cause: GS324
            if step % 2 == 0:
                print(loss.item())
        loss = left(hidden).pow(2).mean()  # effect: GS324
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_each_branch_binds_and_then_again() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, left, right = nn.Linear(3, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *left.parameters(), *right.parameters()], lr=0.1)
    share = 0.1
    for _ in range(6):
        hidden = body(torch.randn(16, 3)).relu()
        main, other = left(hidden).pow(2).mean(), (right(hidden) - 1).pow(2).mean()
        if share > 0:
            loss = main + share * other  # cause: GS324
        else:
            loss = main
        loss = main  # effect: GS324
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_conditions_that_decide() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, left, right = nn.Linear(3, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *left.parameters(), *right.parameters()], lr=0.1)
    share = 0.1
    for _ in range(8):
        hidden = body(torch.randn(16, 3)).relu()
        main, other = left(hidden).pow(2).mean(), (right(hidden) - 1).pow(2).mean()
        loss = main
        if share > 0:
            loss = main + share * other
        kept = [loss]
        if share > 0:
            loss = (right(hidden.tanh()) - 1).pow(2).mean()
            kept.append(loss)
        loss = main.abs()
        kept.append(loss)
        opt.zero_grad()
        sum(kept).backward()
        opt.step()


def good_first_pass_under_a_condition() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, left, right = nn.Linear(3, 8), nn.Linear(8, 1), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *left.parameters(), *right.parameters()], lr=0.1)
    for step in range(8):
        x = torch.randn(16, 3)
        opt.zero_grad()
        if step % 2:
            loss = (right(body(x).relu()) - 1).pow(2).mean()
            loss.backward()
        loss = left(body(x).relu()).pow(2).mean()
        loss.backward()
        opt.step()
