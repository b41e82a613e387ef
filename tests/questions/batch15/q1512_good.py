import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, BOS, EOS, MAX_NEW = 8, 0, 1, 20


class PolicyModel(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, VOCAB)

    def forward(self, input_ids, state=None):
        out, state = self.rnn(self.embed(input_ids), state)
        return self.lm_head(out), state


@torch.no_grad()
def generate(model, prompts):
    ids, state, last = [prompts], None, prompts
    finished = torch.zeros(len(prompts), dtype=torch.bool)
    for _ in range(MAX_NEW):
        logits, state = model(last, state)
        token = torch.distributions.Categorical(logits=logits[:, -1]).sample()
        token = torch.where(finished, torch.full_like(token, EOS), token)
        finished |= token == EOS
        last = token[:, None]
        ids.append(last)
    ids = torch.cat(ids, dim=1)
    response = ids[:, prompts.shape[1] :]
    mask = ((response == EOS).cumsum(1) - (response == EOS).long() == 0).float()
    return ids, torch.cat([torch.zeros(len(ids), prompts.shape[1] - 1), mask], dim=1)


def sequence_logprob(model, input_ids, target_mask):
    logits, _ = model(input_ids[:, :-1])
    logprobs = F.log_softmax(logits, dim=-1)
    picked_logprobs = logprobs.gather(-1, input_ids[:, 1:, None]).squeeze(-1)
    return picked_logprobs * target_mask


def grpo_loss(policy_model, ref_model, input_ids, mask, old_logprobs, advantages, clip_eps=0.2, kl_coef=0.02):
    new_logprobs = sequence_logprob(policy_model, input_ids, mask)
    with torch.no_grad():
        ref_logprobs = sequence_logprob(ref_model, input_ids, mask)
    ratio = torch.exp(new_logprobs - old_logprobs)
    clipped = ratio.clamp(1 - clip_eps, 1 + clip_eps)
    surrogate = torch.minimum(ratio * advantages, clipped * advantages)
    delta = ref_logprobs - new_logprobs
    kl = torch.exp(delta) - delta - 1
    outside = ((ratio - 1).abs() > clip_eps).float().mean().item()
    return -(((surrogate - kl_coef * kl) * mask).sum() / mask.sum()), outside


def reward(input_ids, mask):
    prompt, response, kept = input_ids[:, 1:2], input_ids[:, 2:], mask[:, 1:]
    wanted = 2 + (prompt - 2 + 3) % (VOCAB - 2)
    return ((response == wanted).float() * kept).sum(1) / MAX_NEW


def main():
    torch.manual_seed(0)
    policy_model = PolicyModel()
    ref_model = copy.deepcopy(policy_model).requires_grad_(False)
    optimizer = torch.optim.Adam(policy_model.parameters(), lr=3e-3)
    group, questions = 8, 12
    for step in range(37):
        words = torch.randint(2, VOCAB, (questions,)).repeat_interleave(group)
        prompts = torch.stack([torch.full_like(words, BOS), words], dim=1)
        input_ids, mask = generate(policy_model, prompts)
        rewards = reward(input_ids, mask).view(questions, group)
        advantages = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)
        advantages = advantages.view(-1, 1)
        with torch.no_grad():
            old_logprobs = sequence_logprob(policy_model, input_ids, mask)
        for _ in range(6):
            loss, outside = grpo_loss(policy_model, ref_model, input_ids, mask, old_logprobs, advantages)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(policy_model.parameters(), 1.0)
            optimizer.step()
        if step % 6 == 0:
            print(
                f"step {step:2d}: reward {rewards.mean().item():.3f}  response length {mask.sum(1).mean().item():4.1f}  "
                f"ratios outside the clip range {outside:.2f}"
            )


if __name__ == "__main__":
    main()
