import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, VOCAB, PROMPT, MAX_LENGTH = 0, 20, 3, 24


class CausalLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, VOCAB)

    def forward(self, input_ids):
        return self.lm_head(self.rnn(self.embed(input_ids))[0])


def get_log_prob(logits, labels, prompt_lengths, attention_mask):
    log_probs = F.log_softmax(logits[:, :-1], dim=-1)
    token_log_probs = log_probs.gather(-1, labels[:, 1:, None]).squeeze(-1)
    place = torch.arange(1, labels.shape[1])
    response_mask = (place[None, :] >= prompt_lengths[:, None]).float()
    response_log_probs = (token_log_probs * response_mask).sum(dim=-1)
    return response_log_probs / response_mask.sum(dim=-1).clamp(min=1)


def calculate_DPO_loss(model_prefered, model_disprefered, ref_prefered, ref_disprefered, beta):
    margin = (model_prefered - ref_prefered) - (model_disprefered - ref_disprefered)
    return -F.logsigmoid(beta * margin).mean(), (margin > 0).float().mean()


def write_response(topic, polite):
    n = int(torch.randint(3, 7, ()))
    words = topic + torch.randint(0, 4, (n,))
    if polite:
        words[torch.randint(n, ())] = 18
    else:
        words[torch.randint(n, ())] = 19
    return words


def pad(prompt, response):
    ids = torch.full((MAX_LENGTH,), PAD)
    ids[: PROMPT + len(response)] = torch.cat([prompt, response])
    return ids


def collate(n):
    prefered, disprefered = [], []
    for _ in range(n):
        topic = 2 + 4 * int(torch.randint(4, ()))
        prompt = torch.cat([torch.tensor([1]), topic + torch.randint(0, 4, (PROMPT - 1,))])
        prefered.append(pad(prompt, write_response(topic, True)))
        disprefered.append(pad(prompt, write_response(topic, False)))
    return torch.stack(prefered), torch.stack(disprefered), torch.full((n,), PROMPT)


def pretrain(model, steps=120):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(steps):
        ids = torch.cat(collate(24)[:2])
        loss = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def log_probs(model, prefered, disprefered, lengths):
    return [get_log_prob(model(ids), ids, lengths, ids != PAD) for ids in (prefered, disprefered)]


def main():
    torch.manual_seed(0)
    model = CausalLM()
    pretrain(model)
    ref_model = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    test = collate(200)
    for step in range(101):
        batch = collate(20)
        loss, accuracy = calculate_DPO_loss(
            *log_probs(model, *batch), *log_probs(ref_model, *batch), beta=0.5
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            with torch.no_grad():
                probs = F.softmax(model(test[0]), dim=-1)
                inside = (test[0] != PAD) & (torch.arange(MAX_LENGTH) >= PROMPT - 1)
                polite, rude = probs[..., 18][inside].mean().item(), probs[..., 19][inside].mean().item()
            print(
                f"step {step:3d}: loss {loss.item():.4f}  reward accuracy {accuracy.item():.3f}  "
                f"P(polite word) {polite:.3f}  P(rude word) {rude:.3f}"
            )


if __name__ == "__main__":
    main()
