import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

torch.set_num_threads(1)
torch.manual_seed(0)

VOCAB, LEN = 12, 8
TRAIN_STEPS, NUM_WARMUP_STEPS = 12, 4


def get_constant_schedule_with_warmup(optimizer, num_warmup_steps, last_epoch=-1):
    def lr_lambda(current_step):
        return min(1, float(current_step + 1) / float(max(1, num_warmup_steps)))
    return LambdaLR(optimizer, lr_lambda, last_epoch)


class Policy(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.head = nn.Linear(d, VOCAB)

    def forward(self, ids):
        return self.head(self.rnn(self.emb(ids))[0])

    @torch.no_grad()
    def rollout(self, n):
        ids = torch.zeros(n, 1, dtype=torch.long)
        for _ in range(LEN):
            probs = F.softmax(self(ids)[:, -1], dim=-1)
            ids = torch.cat([ids, torch.multinomial(probs, 1)], dim=1)
        return ids


class ActorWorker:
    def __init__(self):
        self.actor = Policy()
        self.optimizer = torch.optim.AdamW(self.actor.parameters(), lr=1e-2)
        self.lr_scheduler = get_constant_schedule_with_warmup(self.optimizer, NUM_WARMUP_STEPS)

    def log_probs(self, ids):
        logp = F.log_softmax(self.actor(ids[:, :-1]), dim=-1)
        return logp.gather(2, ids[:, 1:, None]).squeeze(2)

    def update_policy(self, ids, old_logp, adv, mini=64):
        losses, norms = [], []
        for sel in torch.arange(ids.size(0)).split(mini):
            self.optimizer.zero_grad()
            ratio = torch.exp(self.log_probs(ids[sel]) - old_logp[sel])
            a = adv[sel, None]
            loss = -torch.min(ratio * a, ratio.clamp(0.8, 1.2) * a).mean()
            loss.backward()
            norms.append(nn.utils.clip_grad_norm_(self.actor.parameters(), 1.0).item())
            self.optimizer.step()
            losses.append(loss.item())
        return sum(losses) / len(losses), sum(norms) / len(norms)

    def update_actor(self, ids, old_logp, adv):
        lr = self.optimizer.param_groups[0]['lr']
        pg_loss, grad_norm = self.update_policy(ids, old_logp, adv)
        self.lr_scheduler.step()
        return {'actor/pg_loss': pg_loss, 'actor/grad_norm': grad_norm, 'actor/lr': lr}


worker = ActorWorker()
for step in range(1, TRAIN_STEPS + 1):
    ids = worker.actor.rollout(256)
    reward = (ids[:, 1:] == 3).float().mean(1)
    adv = (reward - reward.mean()) / (reward.std() + 1e-6)
    with torch.no_grad():
        old_logp = worker.log_probs(ids)
    metrics = worker.update_actor(ids, old_logp, adv)
    with torch.no_grad():
        kl = (old_logp - worker.log_probs(ids)).mean().item()
    print(f'step {step:2d} reward {reward.mean():.3f} kl after update {kl:.5f} '
          + ' '.join(f'{k} {v:.5f}' for k, v in metrics.items()))
