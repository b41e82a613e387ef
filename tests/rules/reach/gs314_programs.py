"""More programs of GS314: each bad one is reported at its marks, each good one by no rule."""


def bad_value_target_by_hand() -> None:
    import torch
    from torch import nn

    critic = nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 1)
        target = reward + 0.9 * critic(after)  # cause: GS314
        error = target - critic(state)  # effect: GS314
        opt.zero_grad()
        error.pow(2).mean().backward()
        opt.step()


def bad_action_of_an_actor() -> None:
    import torch
    from torch import nn

    actor, critic = nn.Linear(3, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
    for _ in range(3):
        state, after, reward = torch.randn(8, 3), torch.randn(8, 3), torch.randn(8, 1)
        goal = reward + 0.9 * critic(torch.cat([after, actor(after)], 1))  # cause: GS314
        loss = nn.functional.mse_loss(critic(torch.randn(8, 4)), goal)  # effect: GS314
        opt.zero_grad()
        loss.backward()
        opt.step()
        for_actor.zero_grad()
        (-critic(torch.cat([state, actor(state)], 1))).mean().backward()
        for_actor.step()


def bad_target_filled_in() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        state, after, reward = torch.randn(3, 4), torch.randn(3, 4), torch.randn(3)
        guess = net(state)
        goal = guess.clone()
        for i in range(3):
            goal[i][0] = reward[i] + 0.9 * net(after[i]).max()  # cause: GS314
        opt.zero_grad()
        nn.functional.mse_loss(guess, goal).backward()  # effect: GS314
        opt.step()


def bad_advantage_of_an_actor() -> None:
    import torch
    from torch import nn

    actor, critic = nn.Linear(4, 2), nn.Linear(4, 1)
    opt = torch.optim.SGD([*actor.parameters(), *critic.parameters()], lr=0.1)
    for _ in range(3):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 1)
        advantage = reward + 0.9 * critic(after) - critic(state)  # cause: GS314 # effect: GS314
        chosen = actor(state).log_softmax(dim=1)[:, :1]
        loss = advantage.pow(2).mean() - (chosen * advantage.detach()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_advantage_over_several_steps() -> None:  # fix: by hand
    import torch
    from torch import nn

    critic, actor = nn.Linear(3, 1), nn.Linear(3, 2)
    opt = torch.optim.SGD([*critic.parameters(), *actor.parameters()], lr=0.1)
    for _ in range(3):
        values = critic(torch.randn(4, 3)).squeeze(1)
        gae, gains = torch.zeros(()), torch.zeros(3)
        for t in reversed(range(3)):
            error = 1.0 * torch.ones(()) + 0.9 * values[t + 1] - values[t]  # cause: GS314  # effect: GS314
            gae = error + 0.8 * gae
            gains[t] = gae
        chosen = torch.distributions.Categorical(logits=actor(torch.randn(3, 3)))
        loss = gains.pow(2).mean() - (gains.detach() * chosen.log_prob(chosen.sample())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_advantage_with_its_graph() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    critic, actor = nn.Linear(3, 1), nn.Linear(3, 2)
    opt = torch.optim.SGD([*critic.parameters(), *actor.parameters()], lr=0.1)
    for _ in range(3):
        state, returns = torch.randn(8, 3), torch.rand(8)
        value = critic(state).squeeze(1)
        policy = torch.distributions.Categorical(logits=actor(state))
        advantage = returns - value  # cause: GS314
        policy_loss = -(policy.log_prob(policy.sample()) * advantage).mean()  # effect: GS314
        loss = policy_loss + functional.mse_loss(value, returns)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_advantage_kept_in_an_attribute() -> None:
    import torch
    from torch import nn
    from torch.nn import functional

    class Episode:
        def learn(self, state: torch.Tensor, returns: torch.Tensor) -> torch.Tensor:
            value = critic(state).squeeze(1)
            policy = torch.distributions.Categorical(logits=actor(state))
            self.advantage = returns - value  # cause: GS314
            policy_loss = -(policy.log_prob(policy.sample()) * self.advantage).mean()  # effect: GS314
            return policy_loss + functional.mse_loss(value, returns)

    critic, actor = nn.Linear(3, 1), nn.Linear(3, 2)
    opt = torch.optim.SGD([*critic.parameters(), *actor.parameters()], lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        Episode().learn(torch.randn(8, 3), torch.rand(8)).backward()
        opt.step()


def bad_estimate_of_one_call_on_both_sides() -> None:
    import torch
    from torch import nn

    critic, actor = nn.Linear(3, 1), nn.Linear(3, 2)
    opt = torch.optim.SGD([*critic.parameters(), *actor.parameters()], lr=0.1)
    for _ in range(3):
        states = torch.randn(9, 3)
        policy = torch.distributions.Categorical(logits=actor(states))
        action, values = policy.sample(), critic(states).squeeze(1)
        reward = (action == 1).float()
        goal = reward[:-1] + 0.9 * values[1:]  # cause: GS314
        opt.zero_grad()
        lesson = nn.functional.mse_loss(values[:-1], goal)  # effect: GS314
        (lesson - (policy.log_prob(action) * reward).mean()).backward()
        opt.step()


def bad_reward_that_another_network_has_chosen() -> None:
    import torch
    from torch import nn

    actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
    for_actor = torch.optim.SGD(actor.parameters(), lr=0.1)
    for_critic = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        state, after = torch.randn(8, 3), torch.randn(8, 3)
        value, following = critic(state).squeeze(1), critic(after).squeeze(1)
        policy = torch.distributions.Categorical(logits=actor(state))
        action = policy.sample()
        target = action.float() + 0.9 * following  # cause: GS314
        error = target - value  # effect: GS314
        for_critic.zero_grad()
        error.pow(2).mean().backward()
        for_critic.step()
        for_actor.zero_grad()
        (-policy.log_prob(action) * error.detach()).mean().backward()
        for_actor.step()


def good_advantage_detached() -> None:
    import torch
    from torch import nn

    critic, actor = nn.Linear(3, 1), nn.Linear(3, 2)
    opt = torch.optim.SGD([*critic.parameters(), *actor.parameters()], lr=0.1)
    for _ in range(3):
        state, returns = torch.randn(8, 3), torch.rand(8)
        advantage = returns - critic(state).squeeze(1)
        policy = torch.distributions.Categorical(logits=actor(state))
        policy_loss = -(policy.log_prob(policy.sample()) * advantage.detach()).mean()
        opt.zero_grad()
        (policy_loss + advantage.pow(2).mean()).backward()
        opt.step()


def good_temperature_that_learns() -> None:
    import torch
    from torch import nn

    critic, actor = nn.Linear(4, 1), nn.Linear(3, 2)
    heat = torch.zeros((), requires_grad=True)
    opt_q = torch.optim.SGD(critic.parameters(), lr=0.1)
    opt = torch.optim.SGD([*actor.parameters(), heat], lr=0.1)
    for _ in range(3):
        state, goal = torch.randn(8, 3), torch.rand(8, 1)
        opt_q.zero_grad()
        nn.functional.mse_loss(critic(torch.cat([state, torch.rand(8, 1)], dim=1)), goal).backward()
        opt_q.step()
        mean, spread = actor(state).chunk(2, dim=1)
        policy = torch.distributions.Normal(mean, spread.exp())
        action = policy.rsample()
        chance = policy.log_prob(action)
        worth = critic(torch.cat([state, action], dim=1))
        opt.zero_grad()
        (heat.exp().detach() * chance - worth).mean().backward()
        (-(heat.exp() * (chance.detach() - 1.0))).mean().backward()
        opt.step()


def bad_copy_in_the_optimizer() -> None:  # fix: by hand
    import copy

    import torch
    from torch import nn

    net = nn.Linear(4, 1)
    slow = copy.deepcopy(net)
    opt = torch.optim.SGD([*net.parameters(), *slow.parameters()], lr=0.1)
    for _ in range(3):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 1)
        goal = reward + 0.9 * slow(after)  # cause: GS314
        opt.zero_grad()
        nn.functional.mse_loss(net(state), goal).backward()  # effect: GS314
        opt.step()
        with torch.no_grad():
            for old, new in zip(slow.parameters(), net.parameters(), strict=True):
                old.mul_(0.9).add_(new, alpha=0.1)


def good_residual_gradient() -> None:
    import torch
    from torch import nn

    value = nn.Linear(4, 1)
    opt = torch.optim.SGD(value.parameters(), lr=0.1)
    for _ in range(3):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8, 1)
        delta = reward + 0.9 * value(after) - value(state)
        opt.zero_grad()
        delta.pow(2).mean().backward()
        opt.step()


def good_siamese_pair() -> None:
    import torch
    from torch import nn

    net = nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x + 0.1 * torch.randn(8, 4)), net(x))
        (loss + (1 - net(x).std(dim=0)).relu().mean()).backward()
        opt.step()


def good_stop_gradient_twins() -> None:
    import torch
    from torch import nn

    encoder, predictor = nn.Linear(4, 3), nn.Linear(3, 3)
    opt = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        first, second = encoder(x + 0.1), encoder(x - 0.1)
        opt.zero_grad()
        near = nn.functional.cosine_similarity(predictor(first), second.detach()).mean()
        far = nn.functional.cosine_similarity(predictor(second), first.detach()).mean()
        (-near - far).backward()
        opt.step()


def good_cycle() -> None:
    import torch
    from torch import nn

    there, back = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*there.parameters(), *back.parameters()], lr=0.1)
    for _ in range(3):
        code = there(torch.randn(8, 4))
        opt.zero_grad()
        nn.functional.l1_loss(there(back(code)), code).backward()
        opt.step()


def good_advantage() -> None:
    import torch
    from torch import nn

    critic = nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.1)
    for _ in range(3):
        returns = torch.randn(8, 1)
        advantage = returns - critic(torch.randn(8, 4))
        opt.zero_grad()
        advantage.pow(2).mean().backward()
        opt.step()


def good_two_networks_that_learn_together() -> None:
    import torch
    from torch import nn

    one, two = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (nn.functional.mse_loss(one(x), two(x)) + one(x).pow(2).mean()).backward()
        opt.step()
        with torch.no_grad():
            for p in [*one.parameters(), *two.parameters()]:
                p.clamp_(-1, 1)


def good_layers_set_up_by_their_first_batch() -> None:
    import torch
    from torch import nn

    class Shift(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.by, self.new = nn.Parameter(torch.zeros(4)), True

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.new:
                with torch.no_grad():
                    self.by.copy_(-x.mean(dim=0))
                self.new = False
            return x + self.by

    flow = nn.Sequential(Shift(), nn.Linear(4, 4), Shift())
    opt = torch.optim.SGD(flow.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        flow(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_population_with_one_backward() -> None:
    import torch
    from torch import nn

    one, two = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (one(x).pow(2).mean() + two(x).pow(2).mean()).backward()
        opt.step()
        two.load_state_dict(one.state_dict())


def good_distance_from_the_running_mean() -> None:
    """A regulariser of what a gradient's length is: each from the mean, which is made of them."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    generator = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 6))
    opt = torch.optim.SGD(generator.parameters(), lr=0.01)
    mean = torch.zeros(())
    for _ in range(4):
        lengths = generator(torch.randn(5, 4)).pow(2).sum(1)
        now = mean + 0.1 * (lengths.mean() - mean)
        loss = (lengths - now).pow(2).mean()
        mean = now.detach()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_reward_with_its_graph() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy, guess, table = nn.Linear(3, 4), nn.Linear(8, 3), nn.Embedding(4, 8)
    opt = torch.optim.SGD([*policy.parameters(), *guess.parameters(), *table.parameters()], lr=0.1)
    for _ in range(3):
        goal = torch.randn(16, 3)
        dist = Categorical(logits=policy(goal))
        action = dist.sample()
        error = (guess(table(action)) - goal).pow(2).sum(1)
        reward = -error  # effect: GS314
        loss = -(dist.log_prob(action) * reward).mean() + error.mean()  # cause: GS314
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_gain_of_two_guesses() -> None:
    import torch
    from torch import nn

    class Agent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.policy, self.guess = nn.Linear(3, 3), nn.Linear(6, 3)

    torch.manual_seed(0)
    agent = Agent()
    opt = torch.optim.Adam(agent.parameters(), lr=0.01)
    for _ in range(3):
        seen, truth = torch.zeros(16, 3), torch.randn(16, 3)
        before = (agent.guess(torch.cat([seen, seen], 1)) - truth).pow(2).sum(1)
        dist = torch.distributions.Bernoulli(logits=agent.policy(seen))
        asked = dist.sample()
        after = (agent.guess(torch.cat([asked * truth, asked], 1)) - truth).pow(2).sum(1)
        gain = before - after  # effect: GS314
        score = dist.log_prob(asked).sum(1)
        loss = after.mean() - torch.mean(score * gain)  # cause: GS314
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_reward_detached_and_added() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy, guess, table = nn.Linear(3, 4), nn.Linear(8, 3), nn.Embedding(4, 8)
    opt = torch.optim.SGD([*policy.parameters(), *guess.parameters(), *table.parameters()], lr=0.1)
    for _ in range(3):
        goal = torch.randn(16, 3)
        dist = Categorical(logits=policy(goal))
        action = dist.sample()
        error = (guess(table(action)) - goal).pow(2).sum(1)
        loss = (dist.log_prob(action) * error.detach() + error).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_magic_box() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy, guess, table = nn.Linear(3, 4), nn.Linear(8, 3), nn.Embedding(4, 8)
    opt = torch.optim.SGD([*policy.parameters(), *guess.parameters(), *table.parameters()], lr=0.1)
    for _ in range(3):
        goal = torch.randn(16, 3)
        dist = Categorical(logits=policy(goal))
        action = dist.sample()
        error = (guess(table(action)) - goal).pow(2).sum(1)
        score = dist.log_prob(action)
        loss = (torch.exp(score - score.detach()) * error).mean() + 0.1 * error.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_weighted_likelihood_of_data() -> None:
    import torch
    from torch import nn
    from torch.distributions import Normal

    torch.manual_seed(0)
    mean, gate = nn.Linear(3, 2), nn.Linear(3, 2)
    opt = torch.optim.SGD([*mean.parameters(), *gate.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 3), torch.randn(16, 1)
        share = gate(x).softmax(1)
        likely = Normal(mean(x), 1.0).log_prob(y)
        loss = -(share * likely).sum(1).mean() - 0.01 * (share * share.log()).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_entropy_times_a_trained_weight() -> None:
    import torch
    from torch import nn
    from torch.distributions import Categorical

    torch.manual_seed(0)
    policy, heat = nn.Linear(3, 4), nn.Parameter(torch.zeros(()))
    opt = torch.optim.SGD([*policy.parameters(), heat], lr=0.1)
    for _ in range(3):
        state = torch.randn(16, 3)
        dist = Categorical(logits=policy(state))
        action = dist.sample()
        reward = (action == 0).float() - 0.25
        score = dist.log_prob(action)
        loss = -(score * reward).mean() + (heat.exp() * score).mean() * 0.01 - heat.exp() * 0.02
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_returns_of_several_steps() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    def returns(gains, tail, ended):
        running, collected = tail, []
        for t in reversed(range(len(gains))):
            running = torch.where(ended[t], gains[t], gains[t] + 0.95 * running)  # cause: GS314
            collected.insert(0, running)
        return torch.stack(collected)

    valuer = nn.Sequential(nn.Linear(3, 8), nn.ELU(), nn.Linear(8, 1))
    opt = torch.optim.Adam(valuer.parameters(), lr=0.003)
    for _ in range(4):
        levels, gains, ended = torch.randn(5, 8, 3), torch.randn(4, 8, 1), torch.rand(4, 8, 1) < 0.1
        aims = returns(gains, valuer(levels[-1]), ended)
        loss = nn.functional.smooth_l1_loss(valuer(levels[:-1]), aims)  # effect: GS314
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_the_other_half_of_an_advantage_is_detached() -> None:
    import torch
    from torch import nn

    body, policy, value = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *policy.parameters(), *value.parameters()], lr=0.01)
    for _ in range(4):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
        action = torch.randint(0, 3, (8,))
        returns = reward + 0.9 * value(body(after).tanh()).squeeze(1)
        hidden = body(state).tanh()
        estimate = value(hidden).squeeze(1)
        lesson = nn.functional.mse_loss(estimate, returns.detach())  # related: GS314
        log_prob = policy(hidden).log_softmax(1)
        advantage = returns - estimate.detach()  # cause: GS314
        gain = advantage * log_prob[range(8), action]  # effect: GS314
        opt.zero_grad()
        (lesson - gain.mean()).backward()
        opt.step()


def good_both_halves_of_an_advantage_are_detached() -> None:
    import torch
    from torch import nn

    body, policy, value = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *policy.parameters(), *value.parameters()], lr=0.01)
    for _ in range(4):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
        action = torch.randint(0, 3, (8,))
        hidden = body(state).tanh()
        estimate = value(hidden).squeeze(1)
        with torch.no_grad():
            returns = reward + 0.9 * value(body(after).tanh()).squeeze(1)
        lesson = nn.functional.mse_loss(estimate, returns)
        gain = (returns - estimate).detach() * policy(hidden).log_softmax(1)[range(8), action]
        opt.zero_grad()
        (lesson - gain.mean()).backward()
        opt.step()


def bad_teacher_drawn_to_its_student() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, teacher, student = (
        nn.Linear(6, 16),
        nn.Linear(16, 4),
        nn.Sequential(nn.Linear(16, 2), nn.Linear(2, 4)),
    )
    opt = torch.optim.Adam([p for m in (body, teacher, student) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        x, labels = torch.randn(32, 6), torch.randint(0, 4, (32,))
        hidden = torch.relu(body(x))
        of_teacher, of_student = teacher(hidden), student(hidden)
        wanted = torch.softmax(of_teacher / 2, dim=-1)  # cause: GS314
        distilled = -(wanted * torch.log_softmax(of_student / 2, dim=-1)).sum(-1).mean()  # effect: GS314
        loss = nn.functional.cross_entropy(of_teacher, labels) + 4 * distilled
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_teacher_in_kl_div() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    teacher, student = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4)), nn.Linear(6, 4)
    opt = torch.optim.Adam([*teacher.parameters(), *student.parameters()], lr=0.01)
    for _ in range(4):
        x, labels = torch.randn(32, 6), torch.randint(0, 4, (32,))
        scores, own = teacher(x), student(x)
        taught = F.nll_loss(F.log_softmax(scores, dim=1), labels) + F.cross_entropy(own, labels)
        drawn = F.kl_div(  # effect: GS314
            F.log_softmax(own, dim=1),
            F.softmax(scores, dim=1),  # cause: GS314
            reduction="batchmean",
        )
        opt.zero_grad()
        (taught + drawn).backward()
        opt.step()


def bad_teacher_of_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    teacher, student = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4)), nn.Linear(6, 4)
    opt = torch.optim.Adam([*teacher.parameters(), *student.parameters()], lr=0.01)
    for _ in range(4):
        x, labels = torch.randn(32, 6), torch.randint(0, 4, (32,))
        scores = teacher(x)
        taught = nn.functional.cross_entropy(scores, labels)
        drawn = nn.functional.mse_loss(student(x), scores)  # cause: GS314
        opt.zero_grad()
        (taught + drawn).backward()
        opt.step()


def good_teacher_detached() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, teacher, student = (
        nn.Linear(6, 16),
        nn.Linear(16, 4),
        nn.Sequential(nn.Linear(16, 2), nn.Linear(2, 4)),
    )
    opt = torch.optim.Adam([p for m in (body, teacher, student) for p in m.parameters()], lr=0.01)
    for _ in range(4):
        x, labels = torch.randn(32, 6), torch.randint(0, 4, (32,))
        hidden = torch.relu(body(x))
        of_teacher, of_student = teacher(hidden), student(hidden)
        wanted = torch.softmax(of_teacher / 2, dim=-1).detach()
        distilled = -(wanted * torch.log_softmax(of_student / 2, dim=-1)).sum(-1).mean()
        loss = nn.functional.cross_entropy(of_teacher, labels) + 4 * distilled
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_both_learn_from_each_other() -> None:
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    one, two = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4)), nn.Linear(6, 4)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()], lr=0.01)
    for _ in range(4):
        x, labels = torch.randn(32, 6), torch.randint(0, 4, (32,))
        a, b = one(x), two(x)
        taught = F.cross_entropy(a, labels) + F.cross_entropy(b, labels)
        there = F.kl_div(F.log_softmax(a, dim=1), F.softmax(b, dim=1), reduction="batchmean")
        back = F.kl_div(F.log_softmax(b, dim=1), F.softmax(a, dim=1), reduction="batchmean")
        opt.zero_grad()
        (taught + 0.5 * (there + back)).backward()
        opt.step()


def good_smooth_around_each_sample() -> None:
    """TRADES: one network, whose answers beside a sample are drawn to those at the sample, with both graphs."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, labels = torch.randn(32, 6), torch.randint(0, 4, (32,))
        beside = x + 0.1 * torch.randn(32, 6)
        scores = model(x)
        robust = F.kl_div(
            F.log_softmax(model(beside), dim=1), F.softmax(scores, dim=1), reduction="batchmean"
        )
        opt.zero_grad()
        (F.cross_entropy(scores, labels) + 6 * robust).backward()
        opt.step()


def good_experts_weighed_by_a_gate() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    gate, experts = nn.Linear(6, 3), nn.ModuleList(nn.Linear(6, 4) for _ in range(3))
    opt = torch.optim.Adam([*gate.parameters(), *experts.parameters()], lr=0.01)
    for _ in range(4):
        x, labels = torch.randn(32, 6), torch.randint(0, 4, (32,))
        groups = labels % 3
        scores = gate(x)
        weights = torch.softmax(scores, dim=1)
        logs = torch.stack([torch.log_softmax(net(x), dim=1)[torch.arange(32), labels] for net in experts], 1)
        loss = -(weights * logs).sum(1).mean() + 0.1 * nn.functional.cross_entropy(scores, groups)
        opt.zero_grad()
        loss.backward()
        opt.step()
